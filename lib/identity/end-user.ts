/**
 * The person behind an application, as the application names them: body `user` (OpenAI), `metadata.user_id` (Anthropic) or a
 * header. A name from a client is stored as untrusted; it can only add a limit of its own below the application's and can
 * never take one away. Pure: hashing is passed in.
 */

export const END_USER_HEADER = "x-spillway-end-user";
const MAX_LENGTH = 256;

export interface EndUserSources {
  readonly header: string | null;
  readonly bodyUser: unknown;
  readonly bodyMetadataUserId: unknown;
}

export type EndUserName =
  | { readonly ok: true; readonly name: string | null }
  | { readonly ok: false; readonly param: string; readonly detail: string };

/** One spelling for what looks the same: NFKC, no surrounding space, lower case. Undefined where nothing usable is left. */
function normalised(text: string): string | undefined {
  const plain = text.normalize("NFKC").trim().toLowerCase();
  return plain === "" || plain.length > MAX_LENGTH || /[\p{Cc}\p{Cf}\p{Cs}]/u.test(plain) ? undefined : plain;
}

/** The name to count under. The header goes before the body; a name that is there but unusable is an error, not nobody. */
export function endUserName(sources: EndUserSources): EndUserName {
  const candidates: readonly (readonly [param: string, value: unknown])[] = [
    [END_USER_HEADER, sources.header],
    ["user", sources.bodyUser],
    ["metadata.user_id", sources.bodyMetadataUserId],
  ];
  const given = candidates.find(([, value]) => value !== null && value !== undefined);
  if (!given) return { ok: true, name: null };
  const [param, value] = given;
  const name = typeof value === "string" ? normalised(value) : undefined;
  if (name !== undefined) return { ok: true, name };
  const detail = `${param} must be text of 1 to ${String(MAX_LENGTH)} characters without control characters`;
  return { ok: false, param, detail };
}

/**
 * The id of an end user within one application, for keys and columns: the name may be an e-mail address and does not appear in
 * it. `hash` is the keyed hash of the installation (KeyHasher), so that names cannot be guessed from ids.
 */
export function endUserId(
  scope: { readonly organisationId: string; readonly appId: string },
  name: string,
  hash: (text: string) => string,
): string {
  // JSON keeps the parts apart whatever characters are in them.
  return `eu_${hash(JSON.stringify([scope.organisationId, scope.appId, name])).slice(0, 32)}`;
}
