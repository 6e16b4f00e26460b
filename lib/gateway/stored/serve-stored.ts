/** `files`, `batches` and what stands behind `responses/` (OpenAI API reference): every path and method, for the caller's own. */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import type { StoredObject } from "@/lib/domain/stored-object";
import type { Authenticated } from "../exchange";
import type { GatewayAnswer } from "../http";
import type { PipelineDeps } from "../pipeline";
import { authenticate } from "../stages/authenticate";
import { createBatch } from "./create-batch";
import { cancelResponse, deleteResponse, ownResponse, readResponse } from "./read-response";
import { cancelBatch, deleteFile, fileContent, listStored, ownObject, readStored } from "./read-stored";
import type { StoredAsked, StoredResult, StoredServing } from "./stored-call";
import { refused } from "./stored-call";
import type { StoredPath } from "./stored-path";
import { uploadFile } from "./upload";

type Act = (
  asked: StoredAsked,
  caller: Authenticated,
  object: StoredObject,
  deps: StoredServing,
) => Promise<GatewayAnswer | Denial>;

/** By kind, what stands behind the id, and method. */
const ACTS: Readonly<Record<string, Act>> = {
  "file GET": readStored,
  "file DELETE": deleteFile,
  "file/content GET": fileContent,
  "batch GET": readStored,
  "batch/cancel POST": cancelBatch,
  "response GET": readResponse,
  "response/input_items GET": readResponse,
  "response/cancel POST": cancelResponse,
  "response DELETE": deleteResponse,
};

function actOf({ kind, tail }: StoredPath, method: string): Act | undefined {
  return ACTS[`${kind}${tail === null ? "" : `/${tail}`} ${method}`];
}

/** Throws StoreUnavailable. */
export async function serveStored(asked: StoredAsked, given: PipelineDeps): Promise<StoredResult> {
  const { request, received, path, clientAddress } = asked;
  const { register } = given;
  if (!register) return refused(denial("not_found"), undefined);
  const deps: StoredServing = { ...given, register };
  const isCreation = path.id === null && request.method === "POST";
  // It authenticates by itself: the body may take longer than a snapshot lives.
  if (isCreation && path.kind === "file") return uploadFile(asked, deps);
  const caller = await authenticate(received, request.headers, clientAddress, deps.clock.nowMs(), deps);
  if (isDenial(caller)) return refused(caller, undefined);
  if (isCreation) return createBatch(asked, caller, deps);
  const answer = await answerRead(asked, caller, deps);
  return isDenial(answer) ? refused(answer, caller) : answer;
}

async function answerRead(
  asked: StoredAsked,
  caller: Authenticated,
  deps: StoredServing,
): Promise<GatewayAnswer | Denial> {
  const { path, request } = asked;
  if (path.id === null) {
    return request.method === "GET" ? listStored(asked, caller, deps) : denial("method_not_allowed");
  }
  const act = actOf(path, request.method);
  if (!act) return denial("method_not_allowed");
  const { kind, id } = path;
  const object = await (kind === "response" ? ownResponse(caller, id, deps) : ownObject(caller, kind, id, deps));
  return isDenial(object) ? object : act(asked, caller, object, deps);
}
