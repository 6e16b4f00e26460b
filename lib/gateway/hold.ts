/**
 * From key to hold: authenticate, read the body, classify, decide, choose targets, estimate, reserve. Decides again where
 * the store knows more than this process, and counts exactly where the bound of the body finds no room.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import { invariant } from "@/lib/domain/fault";
import { MoneyError, parseDecimalToNanos } from "@/lib/domain/money";
import type { ModelDocument } from "@/lib/domain/snapshot";
import { PriceError } from "@/lib/pricing/decimal";
import type { AttemptDeps, Following } from "./attempts";
import type { CompiledCall } from "./compiled-call";
import { atTargets, compiledCall, reservedAgain } from "./compiled-call";
import { callOfEndUser } from "./end-user-call";
import type { Authenticated, Classified, Held, Received } from "./exchange";
import { callOfSession } from "./session-call";
import type { GatewayRequest } from "./http";
import type { BodyGuard, BudgetLedger, PolicySource, PreviousAttempt, TokenEstimator } from "./ports";
import { StoreUnavailable } from "./ports";
import type { ReadBodyDeps } from "./stages/read-body";
import { readRequest } from "./stages/read-body";
import type { AuthenticateDeps } from "./stages/authenticate";
import { authenticate, authenticateRun, classify } from "./stages/authenticate";
import type { ClaimDeps, ClaimSlot, Replayed } from "./stages/claim";
import type { Deferred, DeferDeps, DeferredRun } from "./stages/defer";
import { asksForLater, deferCall } from "./stages/defer";
import { claimCall } from "./stages/claim";
import type { CountedInput, CountedInputs } from "./stages/estimate";
import type { ReserveAgain, StaticRung, TargetSpent } from "./stages/reserve";
import { isTight, reserve } from "./stages/reserve";
import { callOfTargets } from "./target-call";
import { openOf } from "./stages/settle";
import type { ReferencesDeps } from "./stages/references";
import { keptAt } from "./stages/references";
import { unpricedTool } from "./stages/units";
import type { Resting, Routing } from "./targets";
import { NONE_AVOIDED, routeCall } from "./targets";
import { mayNameAddresses } from "./wire/guarded-members";
import type { GovernedRoute } from "./wire/routes/governed-routes";
import type { RouteRequest } from "./wire/routes/route-request";
import { isFormRequest } from "./wire/routes/route-request";

export interface HoldDeps extends AuthenticateDeps, AttemptDeps, ReadBodyDeps, ClaimDeps, DeferDeps, ReferencesDeps {
  readonly policies: PolicySource;
  readonly ledger: BudgetLedger;
  readonly bodyGuard: BodyGuard;
  readonly estimator?: TokenEstimator | undefined;
}

/** A refusal with what is known of the caller by then. */
export interface Refused {
  readonly refusal: Denial;
  readonly caller: Authenticated | undefined;
  readonly request: RouteRequest | undefined;
  /** The rung in force answers with a fixed text where the route has one. */
  readonly isStatic?: boolean;
}

/** A call that waits for its hold. */
export interface Asked {
  readonly request: GatewayRequest;
  readonly received: Received;
  readonly route: GovernedRoute;
  readonly clientAddress: string | undefined;
  /** The body, once it has been read: once a call, however often it is decided. */
  readonly body: {
    current: RouteRequest | undefined;
    /** The account that keeps what the body refers to; absent where it refers to nothing. */
    keptAt?: string;
  };
  /** Claimed once a call, as soon as its body is read. */
  readonly claim: ClaimSlot;
  /** Of a deferred call that is run. */
  readonly run: DeferredRun | undefined;
}

export type HoldResult = Held | Refused | Replayed | Deferred | (Resting & { readonly caller: Authenticated });

/** Snapshot behind, period over, or both, each a few times in a row under constant change. */
const MAX_ROUNDS = 6;

/** The caller's own ceiling for the call, in the organisation's currency. */
export function maxCostOf(request: GatewayRequest): bigint | null | Denial {
  const text = request.headers.get("x-spillway-max-cost");
  if (text === null) return null;
  try {
    return parseDecimalToNanos(text.trim(), "halfEven");
  } catch {
    return denial("invalid_request", { param: "x-spillway-max-cost", detail: "x-spillway-max-cost must be an amount" });
  }
}

/** What is wrong with a request beyond its form: nothing that depends on money. */
export function refusedContent(request: RouteRequest, deps: HoldDeps): Denial | undefined {
  if (request.extras.isBackground && !deps.register) {
    return denial("invalid_request", { param: "background", detail: "answers in the background are not served" });
  }
  const tool = unpricedTool(request);
  if (tool) return tool;
  if (isFormRequest(request) || !mayNameAddresses(request)) return undefined;
  const found = deps.bodyGuard(request.body);
  if (!found) return undefined;
  const what =
    found.because === "url" ? "the address is not one that may be fetched" : "this member is not the caller's to set";
  return denial("invalid_request", { param: found.param, detail: what });
}

const MAX_REGIONS = 20;

/** Regions to which the caller pins the call, sorted; null where it does not. */
export function regionsOf(request: GatewayRequest): readonly string[] | null | Denial {
  const text = request.headers.get("x-spillway-region");
  if (text === null) return null;
  const names = [...new Set(text.split(",").map((name) => name.trim()))].sort();
  if (!names.includes("") && names.length <= MAX_REGIONS) return names;
  return denial("invalid_request", { param: "x-spillway-region", detail: "x-spillway-region must name regions" });
}

function routingOf(
  { route, body, run }: Asked,
  caller: Classified,
  request: RouteRequest,
  regions: readonly string[] | null,
  nowMs: number,
  spent: Held["spent"],
): Routing {
  const { model } = request;
  const { trafficClass } = caller;
  const shape = { model, kinds: route.kinds, trafficClass, route: route.route, regions };
  return { caller, request, shape, nowMs, keptAt: body.keptAt, spent, isCounted: run !== undefined };
}

/** How the call of a held attempt looks for another target. */
export function routingAgain(asked: Asked, held: Held, nowMs: number): Routing {
  const regions = regionsOf(asked.request);
  return routingOf(asked, held.caller, held.request, isDenial(regions) ? [] : regions, nowMs, held.spent);
}

/** The call as it is to be reserved: with its budgets, at a target for each plan. */
function placedCall(
  routing: Routing,
  following: Following | undefined,
  deps: HoldDeps,
): CompiledCall | Resting | Denial {
  const { caller, request, shape, nowMs } = routing;
  const compiled = compiledCall(caller.view, caller.chain, shape, nowMs, deps.adapterOf);
  if (isDenial(compiled)) return compiled;
  const routed = routeCall(compiled, following?.avoided ?? NONE_AVOIDED, routing, deps);
  if (isDenial(routed) || "restingMs" in routed) return routed;
  const counted = caller.chain.countsEndUsers
    ? callOfEndUser(routed.call, caller, request.endUser, deps.hasher)
    : routed.call;
  if (isDenial(counted)) return counted;
  const { session } = caller.chain.policy;
  const limited = session === null ? counted : callOfSession(counted, caller, session, deps.hasher);
  if (isDenial(limited)) return limited;
  const { chosen } = routed;
  const placed = chosen ? atTargets(limited, ({ model, target }) => chosen.get(model.name) ?? target) : limited;
  const call = callOfTargets(placed, caller, nowMs);
  return following || routing.isCounted ? reservedAgain(call) : call;
}

const SHAPES = {
  chat: "openai-chat",
  responses: "openai-responses",
  completion: "openai-completion",
  embedding: "openai-embedding",
  messages: "anthropic-messages",
  gemini: "gemini-contents",
} as const;

/** Input tokens by the model's own tokenizer, for each model that may serve the call. */
async function countInputs(
  request: RouteRequest,
  call: CompiledCall,
  estimator: TokenEstimator,
): Promise<CountedInputs | undefined> {
  const { kind } = request;
  if (isFormRequest(request) || !(kind in SHAPES)) return undefined;
  const shape = SHAPES[kind as keyof typeof SHAPES];
  const counted = new Map<ModelDocument, CountedInput>();
  for (const serving of call.servings) {
    if (!serving || counted.has(serving.model)) continue;
    const { deployment, provider } = serving.target;
    const estimate = estimator.estimate({
      shape,
      body: request.body,
      model: deployment.upstreamModel,
      providerKind: provider.kind,
      contextTokens: serving.model.contextTokens,
    });
    counted.set(serving.model, { estimate, count: await estimator.count(estimate) });
  }
  return counted;
}

type Reserved = Held | Denial | StaticRung | TargetSpent | ReserveAgain;

interface Reserving {
  readonly spent: Held["spent"];
  /** The number of the next reservation: one that was held and given back is not taken again. */
  readonly numbers: { next: number };
  readonly caller: Classified;
  readonly request: RouteRequest;
  readonly call: CompiledCall;
  readonly following: Following | undefined;
  readonly maxCost: bigint | null;
}

const NOTHING_BEFORE: Held["before"] = [];

async function reserveOnce(
  reserving: Reserving,
  attempt: number,
  previous: PreviousAttempt | null,
  counted: CountedInputs | undefined,
  deps: HoldDeps,
): Promise<Reserved> {
  const { caller, request, call, following, maxCost, spent } = reserving;
  const before = following?.before ?? NOTHING_BEFORE;
  try {
    const options = { attempt, before, spent, previous, counted, maxCost };
    return await reserve(caller, request, call, options, deps.ledger);
  } catch (error) {
    if (error instanceof MoneyError)
      return denial("invalid_request", { detail: "this call could cost more than the ledger can hold" });
    if (error instanceof PriceError) return denial("price_missing", { model: request.model, detail: error.message });
    throw error;
  }
}

function previousOf({ failed, resultJson }: Following): PreviousAttempt {
  return { reservationId: failed.reservationId, resolution: "void", resultJson };
}

/** Reserves by the bound of the body, and once more by a count where that finds no room for what was asked. */
async function reserveTightly(reserving: Reserving, deps: HoldDeps): Promise<Reserved> {
  const { numbers, following } = reserving;
  const attempt = numbers.next;
  const before = following ? previousOf(following) : null;
  const first = await reserveOnce(reserving, attempt, before, undefined, deps);
  if ("again" in first || "isStatic" in first || "spentAt" in first || !deps.estimator || !isTight(first)) return first;
  const counted = await countInputs(reserving.request, reserving.call, deps.estimator);
  if (!counted || ![...counted.values()].some(({ count }) => count.hold < reserving.request.inputBound)) return first;
  if ("kind" in first) return reserveOnce(reserving, attempt, before, counted, deps);
  const previous = { reservationId: first.reservationId, resolution: "void" as const };
  numbers.next = attempt + 2;
  try {
    const again = { ...reserving, call: reservedAgain(reserving.call) };
    return await reserveOnce(again, attempt + 1, previous, counted, deps);
  } finally {
    // The script has ended the first one, or has not seen it: this process must stop renewing it.
    void deps.ledger.void(openOf(first));
  }
}

/** At the next place where there is money: what has no room for the call on a budget of its own is passed over. */
async function reserveElsewhere(
  refused: TargetSpent,
  first: Reserving,
  routing: Routing,
  deps: HoldDeps,
): Promise<Exclude<Reserved, TargetSpent> | Resting> {
  let { spentAt } = refused;
  let { spent } = first;
  for (;;) {
    invariant(!spent.has(spentAt), "nothing is sent where the money is known to be gone");
    spent = new Set([...spent, spentAt]);
    const call = placedCall({ ...routing, spent }, first.following, deps);
    if (isDenial(call) || "restingMs" in call) return call;
    const result = await reserveTightly({ ...first, call, spent }, deps);
    if (!("spentAt" in result)) return result;
    ({ spentAt } = result);
  }
}

/** Who asks, as the newest snapshot knows him. Throws StoreUnavailable. */
export function authenticateAsked(asked: Asked, nowMs: number, deps: HoldDeps): Promise<Authenticated | Denial> {
  const { received, request, run, clientAddress } = asked;
  return run
    ? authenticateRun(received, request.headers, run, nowMs, deps)
    : authenticate(received, request.headers, clientAddress, nowMs, deps);
}

/** Throws StoreUnavailable. */
export async function hold(asked: Asked, deps: HoldDeps, following?: Following): Promise<HoldResult> {
  const { request, received, route } = asked;
  let nowMs = deps.clock.nowMs();
  let caller: Classified | undefined;
  let missed = 0;
  const numbers = { next: following ? following.failed.attempt + 1 : 0 };
  const refuse = (refusal: Denial): Refused => ({ refusal, caller, request: asked.body.current });
  const maxCost = maxCostOf(request);
  const regions = regionsOf(request);
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const authenticated = await authenticateAsked(asked, nowMs, deps);
    if (isDenial(authenticated)) return refuse(authenticated);
    caller = classify(authenticated, request.headers);
    if (isDenial(maxCost)) return refuse(maxCost);
    if (isDenial(regions)) return refuse(regions);
    if (route.route === "passthrough" && !caller.view.models.has(received.path)) return refuse(denial("not_found"));
    if (!asked.body.current) {
      const result = await readRequest(request, route, deps);
      if (isDenial(result)) return refuse(result);
      asked.body.current = result;
      const refused = refusedContent(result, deps);
      if (refused) return refuse(refused);
      const account = await keptAt(caller, result, deps);
      if (isDenial(account)) return refuse(account);
      if (account !== null) asked.body.keptAt = account;
      const replayed = await claimCall(caller, request, result, asked.claim, asked.run, deps);
      if (replayed) return isDenial(replayed) ? refuse(replayed) : replayed;
    }
    const parsed: RouteRequest = asked.body.current;
    const spent = following?.failed.spent ?? NONE_AVOIDED;
    const routing = routingOf(asked, caller, parsed, regions, nowMs, spent);
    const call = placedCall(routing, following, deps);
    if (isDenial(call)) return refuse(call);
    if ("restingMs" in call) return { ...call, caller };
    // What is made in the background is not waited for anyway.
    const mayWait = !asked.run && !following && !parsed.extras.isBackground;
    if (mayWait && asksForLater(request.headers)) {
      const deferred = await deferCall(caller, request, parsed, call.rateLimits, nowMs, deps);
      if (deferred) return isDenial(deferred) ? refuse(deferred) : deferred;
    }
    const reserving = { caller, request: parsed, call, following, maxCost, spent, numbers };
    const reserved = await reserveTightly(reserving, deps);
    const result = "spentAt" in reserved ? await reserveElsewhere(reserved, reserving, routing, deps) : reserved;
    if ("restingMs" in result) return { ...result, caller };
    if (mayWait && "mayWait" in result && result.mayWait) {
      const deferred = await deferCall(caller, request, parsed, call.rateLimits, nowMs, deps);
      if (deferred) return isDenial(deferred) ? refuse(deferred) : deferred;
    }
    if ("isStatic" in result) return { ...refuse(result.refusal), isStatic: true };
    if (isDenial(result)) return refuse(result);
    if (!("again" in result)) return result;
    if (result.again === "clock") nowMs = result.nowMs;
    else {
      // Once: a store that is gone by now is so for the next hold, too, which says whether the call may pass without it.
      await deps.policies.catchUp(caller.view.organisation.id).catch((error: unknown) => {
        if (missed++ > 0 || !(error instanceof StoreUnavailable)) throw error;
      });
    }
  }
  return refuse(denial("quota_store_unavailable", { retryAfterMs: 1000 }));
}
