/** Reading, deleting and cancelling what is the caller's own. Costs nothing, and is open also to who has nothing left. */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import type { StoredObject } from "@/lib/domain/stored-object";
import { isOwnedBy, objectsOfBatch } from "@/lib/domain/stored-object";
import type { Authenticated } from "../exchange";
import type { GatewayAnswer } from "../http";
import { jsonAnswer } from "../http";
import type { UpstreamResponse } from "../ports";
import { upstreamErrorAnswer } from "../wire/error-response";
import { askProvider, isUpstream, jsonOf } from "./ask-provider";
import type { StoredAsked, StoredServing } from "./stored-call";
import { organisationOf, ownerOf } from "./stored-call";

const SETTLES_AFTER_MS = 5_000;
const PAGE_LIMITS = {
  file: { most: 1_000, usual: 1_000 },
  batch: { most: 100, usual: 20 },
  // Nobody lists responses.
  response: { most: 0, usual: 0 },
} as const;

type Answered = GatewayAnswer | Denial;

/** The caller's own object; somebody else's looks like none. */
export async function ownObject(
  caller: Authenticated,
  kind: StoredObject["kind"],
  id: string,
  { register }: Pick<StoredServing, "register">,
): Promise<StoredObject | Denial> {
  const object = await register.find(organisationOf(caller), kind, id);
  return object && isOwnedBy(object, ownerOf(caller)) ? object : denial("object_not_found", { detail: id });
}

export function queryOf(url: string): URLSearchParams {
  const at = url.indexOf("?");
  return new URLSearchParams(at < 0 ? "" : url.slice(at + 1));
}

/** A page of the caller's own, in the shape of the SDK's cursor pages. */
export async function listStored(asked: StoredAsked, caller: Authenticated, deps: StoredServing): Promise<Answered> {
  const { kind } = asked.path;
  const query = queryOf(asked.request.url);
  const { most, usual } = PAGE_LIMITS[kind];
  const limit = Number(query.get("limit") ?? usual);
  const order = query.get("order") ?? "desc";
  if (!Number.isInteger(limit) || limit < 1) {
    return denial("invalid_request", { param: "limit", detail: "limit must be a whole number from 1" });
  }
  if (order !== "asc" && order !== "desc") {
    return denial("invalid_request", { param: "order", detail: "order must be asc or desc" });
  }
  const page = await deps.register.list(organisationOf(caller), ownerOf(caller), {
    ...{ kind, order, limit: Math.min(limit, most) },
    ...{ after: query.get("after"), purpose: kind === "file" ? query.get("purpose") : null },
  });
  if (!page) return denial("object_not_found", { detail: query.get("after") ?? "" });
  const { objects, hasMore } = page;
  const body = {
    object: "list",
    data: objects.map(({ object }) => object),
    first_id: objects[0]?.id ?? null,
    last_id: objects.at(-1)?.id ?? null,
    has_more: hasMore,
  };
  return jsonAnswer(200, body, { "x-request-id": caller.requestId });
}

function unreadable(asked: StoredAsked, caller: Authenticated): GatewayAnswer {
  return upstreamErrorAnswer({ status: 502, code: "upstream_error" }, asked.errorContext(caller), 0);
}

/** A batch as the provider tells it now. Files that it has written by now become the caller's before it hears of them. */
async function batchAnswer(
  asked: StoredAsked,
  caller: Authenticated,
  known: StoredObject,
  upstream: UpstreamResponse,
  { register }: StoredServing,
): Promise<GatewayAnswer> {
  const batch = await jsonOf(upstream);
  if (batch?.id !== known.id) return unreadable(asked, caller);
  const made = { ...known, deploymentId: known.deploymentId ?? "" };
  const { model } = known.object;
  const [own, ...files] = objectsOfBatch(made, typeof model === "string" ? model : "", batch);
  if (!own) return unreadable(asked, caller);
  if (JSON.stringify(own.object) !== JSON.stringify(known.object)) {
    await register.put(organisationOf(caller), [own, ...files]);
  }
  return jsonAnswer(200, own.object, { "x-request-id": caller.requestId });
}

/** A file or a batch, as the provider tells it. */
export async function readStored(
  asked: StoredAsked,
  caller: Authenticated,
  object: StoredObject,
  deps: StoredServing,
): Promise<Answered> {
  const isBatch = object.kind === "batch";
  const route = `${isBatch ? "batches" : "files"}/${object.id}`;
  const found = await askProvider(asked, caller, object, { method: "GET", route, isStream: false }, deps);
  if (!isUpstream(found)) return found;
  if (isBatch) return batchAnswer(asked, caller, object, found, deps);
  const file = await jsonOf(found);
  return file ? jsonAnswer(200, file, { "x-request-id": caller.requestId }) : unreadable(asked, caller);
}

export async function cancelBatch(
  asked: StoredAsked,
  caller: Authenticated,
  object: StoredObject,
  deps: StoredServing,
): Promise<Answered> {
  const route = `batches/${object.id}/cancel`;
  const found = await askProvider(asked, caller, object, { method: "POST", route, isStream: false }, deps);
  return isUpstream(found) ? batchAnswer(asked, caller, object, found, deps) : found;
}

/** The bytes of a file, as they come. */
export async function fileContent(
  asked: StoredAsked,
  caller: Authenticated,
  object: StoredObject,
  deps: StoredServing,
): Promise<Answered> {
  const route = `files/${object.id}/content`;
  const found = await askProvider(asked, caller, object, { method: "GET", route, isStream: true }, deps);
  if (!isUpstream(found)) return found;
  const headers = { ...deps.answerHeaders(found.headers), "x-request-id": caller.requestId };
  return { status: 200, headers: { "content-type": "application/octet-stream", ...headers }, body: found.body };
}

/** Deletes a file. One that a batch has written stays until what the batch cost is booked: it says what is owed. */
export async function deleteFile(
  asked: StoredAsked,
  caller: Authenticated,
  object: StoredObject,
  deps: StoredServing,
): Promise<Answered> {
  const organisationId = organisationOf(caller);
  if (object.batchId !== null && !(await deps.register.isSettled(organisationId, object.batchId))) {
    return denial("batch_not_settled", { retryAfterMs: SETTLES_AFTER_MS });
  }
  const route = `files/${object.id}`;
  const found = await askProvider(asked, caller, object, { method: "DELETE", route, isStream: false }, deps);
  const isGone = isDenial(found) && found.code === "object_not_found";
  if (isGone || isUpstream(found)) await deps.register.remove(organisationId, object);
  if (!isUpstream(found)) return found;
  const body = { id: object.id, object: "file", deleted: true };
  return jsonAnswer(200, body, { "x-request-id": caller.requestId });
}
