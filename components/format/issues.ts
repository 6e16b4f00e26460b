/** What a contract says of each field, by its path: "claims.consumer". The first word on a field stands. */
export function issuesByPath(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): Record<string, string> {
  return Object.fromEntries(issues.toReversed().map((issue) => [issue.path.map(String).join("."), issue.message]));
}
