/** A draft held against its contract: the input it becomes, or what is wrong with each field. Pure. */
import type { z } from "zod";

/** Codes by the path of their field: "claims.consumer". */
export type FieldErrors = Readonly<Record<string, string>>;

export type Checked<Input> =
  { readonly ok: true; readonly input: Input } | { readonly ok: false; readonly errors: FieldErrors };

/** What a contract says of each field. The first word on a field stands. */
export function issuesByPath(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): Record<string, string> {
  return Object.fromEntries(issues.toReversed().map((issue) => [issue.path.map(String).join("."), issue.message]));
}

/** Lists are typed into one field, so what is wrong with the third entry stands at the list. */
function atFields(errors: FieldErrors): FieldErrors {
  return Object.fromEntries(Object.entries(errors).map(([path, code]) => [path.replace(/\.\d+(?:\..*)?$/u, ""), code]));
}

export function checkBy<Schema extends z.ZodType>(schema: Schema, value: unknown): Checked<z.output<Schema>> {
  const parsed = schema.safeParse(value);
  return parsed.success
    ? { ok: true, input: parsed.data }
    : { ok: false, errors: atFields(issuesByPath(parsed.error.issues)) };
}

/** The same check with errors that only the form can know, such as a name that another row has. */
export function alsoCheck<Input>(checked: Checked<Input>, errors: FieldErrors): Checked<Input> {
  if (Object.keys(errors).length === 0) return checked;
  return { ok: false, errors: { ...(checked.ok ? {} : checked.errors), ...errors } };
}
