/**
 * Takes a call for later: where the caller asks for it (`Prefer: respond-async`, RFC 7240 section 4.1), or the rung in force defers its
 * class; in both cases only where the policy says how long its text may be kept. What is taken is a request of its rates now. It runs
 * through this gateway again, as the same key, and holds its money then.
 */
import type { DeferredFacts } from "@/lib/domain/deferred-call";
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import { newId } from "@/lib/domain/ids";
import type { WebhookPolicy } from "@/lib/domain/policy";
import { isHostAmong } from "@/lib/domain/webhook";
import type { CompiledCall } from "../compiled-call";
import type { Classified } from "../exchange";
import type { GatewayAnswer, GatewayRequest } from "../http";
import { jsonAnswer } from "../http";
import type { BudgetLedger, DeferralStore } from "../ports";
import { sessionNote } from "../session-call";
import type { RouteRequest } from "../wire/routes/route-request";
import { isFormRequest } from "../wire/routes/route-request";

export interface DeferDeps {
  /** Absent: nothing is deferred. */
  readonly deferrals?: DeferralStore | undefined;
  readonly ledger: BudgetLedger;
  /** Why an address may not be called, in a sentence for the caller; null where it may. */
  readonly urlRefusal: (url: string) => string | null;
}

/** Who a deferred call is, when it is run: the key by the hash of a secret it has now. */
export interface DeferredRun {
  readonly id: string;
  readonly organisationId: string;
  readonly keyHash: string;
  /** A run before this one has sent it: its answer may be replayed, and nothing is sent again. */
  readonly wasSent: boolean;
  /** Writes down, where it outlives this process, that an attempt is about to be sent. False: the call is not this run's any more. */
  readonly beforeSend: () => Promise<boolean>;
  /** Told where the last attempt provably reached nobody. */
  readonly unserved: () => void;
}

export interface Deferred {
  readonly deferred: GatewayAnswer;
}

/** Longer bodies are not kept. */
const MAX_BYTES = 1024 * 1024;
const ASK_AFTER_SECONDS = 10;
const WEBHOOK_HEADER = "x-spillway-webhook";
/** What decides about a call beside its body. */
const KEPT_HEADERS = [
  "accept-language",
  "anthropic-beta",
  "anthropic-version",
  "content-type",
  "openai-beta",
  "priority",
  "x-consumer-id",
  "x-spillway-class",
  "x-spillway-max-cost",
  "x-spillway-region",
  "x-spillway-session",
  "x-spillway-end-user",
];

export function asksForLater(headers: GatewayRequest["headers"]): boolean {
  const preference = headers.get("prefer");
  return preference !== null && /(^|[\s,;])respond-async($|[\s,;])/iu.test(preference);
}

function keptHeaders(headers: GatewayRequest["headers"]): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of KEPT_HEADERS) {
    const value = headers.get(name);
    if (value !== null) kept[name] = value;
  }
  return kept;
}

/** Where the end is told: where the caller says, at a host of the policy's list, or where the policy says. */
function webhookOf(named: string | null, policy: WebhookPolicy | undefined, deps: DeferDeps): string | null | Denial {
  if (named === null) return policy?.url ?? null;
  const refuse = (detail: string) => denial("invalid_request", { param: WEBHOOK_HEADER, detail });
  const refusal = deps.urlRefusal(named);
  if (refusal !== null) return refuse(refusal);
  if (isHostAmong(policy?.hosts ?? [], new URL(named).hostname)) return named;
  return refuse("the policy does not allow webhooks to this host");
}

/** The 202, or undefined where this call cannot wait: the policy keeps nothing, a token called, or the body is a form or too long. */
export async function deferCall(
  caller: Classified,
  asked: GatewayRequest,
  request: RouteRequest,
  rateLimits: CompiledCall["rateLimits"],
  nowMs: number,
  deps: DeferDeps,
): Promise<Deferred | Denial | undefined> {
  const { deferrals, ledger } = deps;
  const { deferral } = caller.chain.policy;
  if (!deferrals || !deferral || isFormRequest(request) || request.bodyBytes > MAX_BYTES) return undefined;
  // A token has ended by the time the call runs, and nobody can prove it again.
  if (caller.callerId !== caller.key.keyId) return undefined;
  const webhook = webhookOf(asked.headers.get(WEBHOOK_HEADER), deferral.webhook, deps);
  if (isDenial(webhook)) return webhook;
  const facts: DeferredFacts = {
    id: newId("dfr", nowMs),
    apiKeyId: caller.key.keyId,
    appId: caller.key.appId,
    environment: caller.key.environment,
    createdMs: nowMs,
    deadlineMs: nowMs + deferral.deadlineSeconds * 1000,
    keepSeconds: deferral.keepSeconds,
  };
  const { method, url, headers } = asked;
  const organisationId = caller.view.organisation.id;
  const refused = await ledger.countRequest(organisationId, rateLimits);
  if (refused) return denial(refused.denial, { retryAfterMs: refused.retryAfterMs });
  const kept = { method, url, headers: keptHeaders(headers), body: request.text };
  await deferrals.accept(organisationId, facts, webhook === null ? kept : { ...kept, webhook });
  ledger.refused({
    organisationId,
    requestId: caller.requestId,
    refusedAtMs: nowMs,
    apiKeyId: facts.apiKeyId,
    appId: facts.appId,
    consumerPath: [...caller.chain.consumerPath],
    environment: caller.key.environment,
    trafficClass: caller.trafficClass,
    route: caller.route,
    modelRequested: request.model,
    statusCode: 202,
    code: "deferred",
    budgetId: null,
    explanation: { deferredId: facts.id, ...sessionNote(caller) },
  });
  return { deferred: accepted(caller, facts, asksForLater(headers)) };
}

function accepted(caller: Classified, facts: DeferredFacts, isPreferred: boolean): GatewayAnswer {
  const body = {
    id: facts.id,
    object: "deferred_call",
    status: "pending",
    created_at: Math.floor(facts.createdMs / 1000),
    deadline_at: Math.floor(facts.deadlineMs / 1000),
    request_id: caller.requestId,
  };
  return jsonAnswer(202, body, {
    "x-request-id": caller.requestId,
    location: `/api/v1/deferred/${facts.id}`,
    "retry-after": String(ASK_AFTER_SECONDS),
    "x-spillway-decision": "deferred",
    "x-spillway-cost": "0",
    "x-spillway-currency": caller.view.organisation.currency,
    ...(isPreferred ? { "preference-applied": "respond-async" } : {}),
  });
}
