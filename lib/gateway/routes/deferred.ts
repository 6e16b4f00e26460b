/**
 * `deferred/{id}`: how a call that was taken for later stands, for the key that made it and the others of its app and environment; and
 * its cancel.
 */
import { isDeferredId, isEnded } from "@/lib/domain/deferred-call";
import type { Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import { isOwnedBy } from "@/lib/domain/stored-object";
import type { Authenticated } from "../exchange";
import type { GatewayAnswer } from "../http";
import { jsonAnswer } from "../http";
import type { DeferralStore, DeferredView } from "../ports";

const ASK_AFTER_SECONDS = 10;
const PATH = /^deferred\/([^/]+)(\/cancel)?$/u;

export function isDeferredPath(path: string): boolean {
  return path.startsWith("deferred/");
}

/** A provider may say JSON and send something else. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** An answer as data where it is JSON, as text where it is a stream's events. */
function answerBody({ answer }: DeferredView): unknown {
  if (!answer) return undefined;
  return {
    status: answer.status,
    content_type: answer.contentType,
    request_id: answer.requestId,
    cost: answer.cost,
    body: answer.contentType.includes("json") ? parsed(answer.body) : answer.body,
  };
}

function viewAnswer(view: DeferredView, requestId: string): GatewayAnswer {
  const { facts, state, code } = view;
  const body = {
    id: facts.id,
    object: "deferred_call",
    status: state,
    created_at: Math.floor(facts.createdMs / 1000),
    deadline_at: Math.floor(facts.deadlineMs / 1000),
    code,
    answer: answerBody(view),
  };
  const waiting = isEnded(state) ? {} : { "retry-after": String(ASK_AFTER_SECONDS) };
  return jsonAnswer(200, body, { "x-request-id": requestId, ...waiting });
}

/** Throws StoreUnavailable. */
export async function answerDeferred(
  method: string,
  caller: Authenticated,
  deferrals: DeferralStore | undefined,
): Promise<GatewayAnswer | Denial> {
  const [, id = "", cancel] = PATH.exec(caller.path) ?? [];
  if (!deferrals || !isDeferredId(id)) return denial("not_found");
  const isCancel = cancel === undefined ? method === "DELETE" : method === "POST";
  if (!isCancel && (method !== "GET" || cancel !== undefined)) return denial("method_not_allowed");
  const organisationId = caller.view.organisation.id;
  const view = await deferrals.read(organisationId, id);
  // Somebody else's call looks like none.
  if (!view || (view.facts.apiKeyId !== caller.callerId && !isOwnedBy(view.facts, caller.key)))
    return denial("not_found");
  if (!isCancel) return viewAnswer(view, caller.requestId);
  const state = await deferrals.cancel(organisationId, id, view.facts.keepSeconds);
  if (state === "running") return denial("deferred_running");
  // It may have ended meanwhile: what is told is how it stands now.
  return viewAnswer((await deferrals.read(organisationId, id)) ?? { ...view, state }, caller.requestId);
}
