/**
 * Takes a call for later: where the caller asks for it (`Prefer: respond-async`, RFC 7240 section 4.1), or the rung in force defers its
 * class; in both cases only where the policy says how long its text may be kept. What is taken runs through this gateway again, as the
 * same key, and holds its money then.
 */
import type { DeferredFacts } from "@/lib/domain/deferred-call";
import type { Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import { newId } from "@/lib/domain/ids";
import type { Classified } from "../exchange";
import type { GatewayAnswer, GatewayRequest } from "../http";
import { jsonAnswer } from "../http";
import type { BudgetLedger, DeferralStore } from "../ports";
import type { RouteRequest } from "../wire/routes/route-request";
import { isFormRequest } from "../wire/routes/route-request";

export interface DeferDeps {
  /** Absent: nothing is deferred. */
  readonly deferrals?: DeferralStore | undefined;
  readonly ledger: BudgetLedger;
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

/** The 202, or undefined where this call cannot wait: the policy keeps nothing, a token called, or the body is a form or too long. */
export async function deferCall(
  caller: Classified,
  asked: GatewayRequest,
  request: RouteRequest,
  nowMs: number,
  { deferrals, ledger }: DeferDeps,
): Promise<Deferred | Denial | undefined> {
  const { deferral } = caller.chain.policy;
  if (!deferrals || !deferral || isFormRequest(request) || request.bodyBytes > MAX_BYTES) return undefined;
  // A token has ended by the time the call runs, and nobody can prove it again.
  if (caller.callerId !== caller.key.keyId) return undefined;
  if (asked.headers.get("x-spillway-webhook") !== null) {
    const detail = "webhooks of deferred calls are not served: ask for the answer by its id";
    return denial("invalid_request", { param: "x-spillway-webhook", detail });
  }
  const facts: DeferredFacts = {
    id: newId("dfr", nowMs),
    apiKeyId: caller.key.keyId,
    appId: caller.key.appId,
    createdMs: nowMs,
    deadlineMs: nowMs + deferral.deadlineSeconds * 1000,
    keepSeconds: deferral.keepSeconds,
  };
  const { method, url, headers } = asked;
  const organisationId = caller.view.organisation.id;
  await deferrals.accept(organisationId, facts, { method, url, headers: keptHeaders(headers), body: request.text });
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
    explanation: { deferredId: facts.id },
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
