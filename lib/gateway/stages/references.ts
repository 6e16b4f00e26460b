/**
 * What a body refers to at a provider: answers that it keeps (`kept-answers.ts`), containers and files (`file_id`, `file_ids`). All of a
 * company's applications share the account in which these lie, so what is not known to be the caller's own does not exist for it.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import { isOwnedBy } from "@/lib/domain/stored-object";
import type { Authenticated } from "../exchange";
import type { ObjectRegister } from "../ports";
import type { RouteRequest } from "../wire/routes/route-request";
import { isFormRequest } from "../wire/routes/route-request";
import { containersNamed } from "./containers";
import type { KeptAnswersDeps } from "./kept-answers";
import { answersKeptAt, containersKeptAt, mayContinue } from "./kept-answers";

export interface ReferencesDeps extends KeptAnswersDeps {
  /** Absent: nobody has files. */
  readonly register?: ObjectRegister | undefined;
}

const MAX_FILES = 200;
/** Members in which the caller's own words stand, whatever their names are. */
const OWN_WORDS = new Set(["metadata", "parameters", "input_schema", "schema", "args", "response"]);

/** An escaped letter could hide the name. */
function mayNameFiles(text: string): boolean {
  return text.includes("file_id") || text.includes("\\u");
}

/** No deeper than a body may be (`json-scan.ts`). */
function collect(value: unknown, ids: Set<string>): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) collect(item, ids);
    return;
  }
  const type: unknown = "type" in value ? value.type : undefined;
  const isToolUse = typeof type === "string" && type.endsWith("tool_use");
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    if (name === "file_id" && typeof member === "string") ids.add(member);
    else if (name === "file_ids" && Array.isArray(member))
      for (const id of member as unknown[]) if (typeof id === "string") ids.add(id);
    // The arguments of a call are the model's words.
    if (!OWN_WORDS.has(name) && !(isToolUse && name === "input")) collect(member, ids);
  }
}

/** Ids of the files that a body refers to, at any depth. */
export function filesNamed(text: string, body: Readonly<Record<string, unknown>>): readonly string[] {
  if (!mayNameFiles(text)) return [];
  const ids = new Set<string>();
  collect(body, ids);
  return [...ids];
}

async function filesKeptAt(
  caller: Authenticated,
  ids: readonly string[],
  { register }: ReferencesDeps,
): Promise<string | null | Denial> {
  if (ids.length > MAX_FILES) return denial("invalid_request", { param: "file_id", detail: "too many files" });
  const { key, view } = caller;
  let providerId: string | null = null;
  for (const id of ids) {
    const file = await register?.find(view.organisation.id, "file", id);
    if (!file || !isOwnedBy(file, key)) return denial("object_not_found", { param: "file_id", detail: id });
    if (providerId !== null && providerId !== file.providerId) return inTwoAccounts("file_id");
    ({ providerId } = file);
  }
  return providerId;
}

function inTwoAccounts(param: string): Denial {
  return denial("invalid_request", { param, detail: "these are kept in two accounts" });
}

/**
 * Where what the body refers to is kept: the id of the provider, or null where it refers to nothing; a denial where anything of
 * it is not the caller's. Throws StoreUnavailable.
 */
export async function keptAt(
  caller: Authenticated,
  request: RouteRequest,
  deps: ReferencesDeps,
): Promise<string | null | Denial> {
  if (isFormRequest(request)) return null;
  const files = filesNamed(request.text, request.body);
  const containers = containersNamed(request.body);
  // Most calls name nothing, and wait for nobody.
  const answers = mayContinue(request) ? await answersKeptAt(caller, request, deps) : null;
  if (isDenial(answers) || (files.length === 0 && containers.length === 0)) return answers;
  const ofContainers = await containersKeptAt(caller, containers, deps);
  if (isDenial(ofContainers)) return ofContainers;
  const ofFiles = await filesKeptAt(caller, files, deps);
  if (isDenial(ofFiles)) return ofFiles;
  const places = new Set([answers, ofContainers, ofFiles].filter((place) => place !== null));
  if (places.size > 1) return inTwoAccounts(files.length > 0 ? "file_id" : "container");
  return [...places][0] ?? null;
}
