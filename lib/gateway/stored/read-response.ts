/** Responses that a provider keeps: read, listened to again, cancelled and deleted by the application that had them made. */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import { objectOfResponse } from "@/lib/domain/background-response";
import type { StoredObject } from "@/lib/domain/stored-object";
import { isOwnedBy } from "@/lib/domain/stored-object";
import type { Authenticated } from "../exchange";
import type { GatewayAnswer } from "../http";
import { jsonAnswer } from "../http";
import type { UpstreamResponse } from "../ports";
import { noteOwned } from "../stages/kept-answers";
import { isBody } from "../wire/routes/fields";
import { askProvider, isUpstream } from "./ask-provider";
import { queryOf } from "./read-stored";
import type { StoredAsked, StoredServing } from "./stored-call";
import { organisationOf, ownerOf } from "./stored-call";

const SETTLES_AFTER_MS = 5_000;
/** What a read may say (API reference: get a model response, list input items). */
const QUERY = new Set([
  "include",
  "include[]",
  "include_obfuscation",
  "starting_after",
  "stream",
  "after",
  "limit",
  "order",
]);

type Answered = GatewayAnswer | Denial;

/** Made in the background, or kept of an ordinary call; somebody else's looks like none. */
export async function ownResponse(
  caller: Authenticated,
  id: string,
  { register, answerOwners }: StoredServing,
): Promise<StoredObject | Denial> {
  const organisationId = organisationOf(caller);
  const known = await register.find(organisationId, "response", id);
  if (known) return isOwnedBy(known, ownerOf(caller)) ? known : denial("object_not_found", { detail: id });
  const [owner] = (await answerOwners?.find(organisationId, [id])) ?? [];
  if (!owner || !isOwnedBy(owner, ownerOf(caller))) return denial("object_not_found", { detail: id });
  return {
    ...{ kind: "response", id, ...ownerOf(caller), apiKeyId: caller.key.keyId, providerId: owner.providerId },
    ...{ deploymentId: null, createdMs: 0, object: { id, object: "response" }, input: null, batchId: null },
  };
}

function passedQuery(url: string): string {
  const passed = [...queryOf(url)].filter(([name]) => QUERY.has(name));
  return new URLSearchParams(passed).toString();
}

/** As the provider tells it now; its items become the caller's, so that they can be continued. */
async function wholeResponse(
  caller: Authenticated,
  known: StoredObject,
  upstream: UpstreamResponse,
  deps: StoredServing,
): Promise<GatewayAnswer> {
  const bytes = await upstream.bytes();
  const headers = { ...deps.answerHeaders(upstream.headers), "x-request-id": caller.requestId };
  const answer = { status: 200, headers: { "content-type": "application/json", ...headers }, body: bytes };
  let response: unknown;
  try {
    response = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return answer;
  }
  if (!isBody(response) || response.id !== known.id) return answer;
  const organisationId = organisationOf(caller);
  await noteOwned(organisationId, response, { ...ownerOf(caller), providerId: known.providerId }, deps);
  const { model } = known.object;
  if (known.deploymentId !== null && response.status !== known.object.status) {
    const made = { ...known, deploymentId: known.deploymentId };
    await deps.register.put(organisationId, [objectOfResponse(made, String(model), response)]);
  }
  return answer;
}

/** The response, its events from the beginning or after one of them, or its input. */
export async function readResponse(
  asked: StoredAsked,
  caller: Authenticated,
  object: StoredObject,
  deps: StoredServing,
): Promise<Answered> {
  const tail = asked.path.tail === null ? "" : `/${asked.path.tail}`;
  const query = passedQuery(asked.request.url);
  const isStream = new URLSearchParams(query).get("stream") === "true";
  const question = { method: "GET", route: `responses/${object.id}${tail}`, query, isStream } as const;
  const found = await askProvider(asked, caller, object, question, deps);
  if (!isUpstream(found)) return found;
  if (!isStream) return wholeResponse(caller, object, found, deps);
  const headers = { ...deps.answerHeaders(found.headers), "x-request-id": caller.requestId };
  return { status: 200, headers: { "cache-control": "no-cache, no-transform", ...headers }, body: found.body };
}

export async function cancelResponse(
  asked: StoredAsked,
  caller: Authenticated,
  object: StoredObject,
  deps: StoredServing,
): Promise<Answered> {
  const question = { method: "POST", route: `responses/${object.id}/cancel`, isStream: false } as const;
  const found = await askProvider(asked, caller, object, question, deps);
  return isUpstream(found) ? wholeResponse(caller, object, found, deps) : found;
}

/** Deletes a response. One that was made in the background stays until what it cost is booked: it says what is owed. */
export async function deleteResponse(
  asked: StoredAsked,
  caller: Authenticated,
  object: StoredObject,
  deps: StoredServing,
): Promise<Answered> {
  const organisationId = organisationOf(caller);
  const isBackground = object.deploymentId !== null;
  if (isBackground && !(await deps.register.isSettled(organisationId, object.id))) {
    return denial("response_not_settled", { retryAfterMs: SETTLES_AFTER_MS });
  }
  const question = { method: "DELETE", route: `responses/${object.id}`, isStream: false } as const;
  const found = await askProvider(asked, caller, object, question, deps);
  const isGone = isDenial(found) && found.code === "object_not_found";
  if (isBackground && (isGone || isUpstream(found))) await deps.register.remove(organisationId, object);
  if (!isUpstream(found)) return found;
  return jsonAnswer(200, { id: object.id, object: "response", deleted: true }, { "x-request-id": caller.requestId });
}
