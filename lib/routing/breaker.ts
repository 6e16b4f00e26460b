/**
 * Circuit breaker of one deployment, as a pure reducer. Closed: calls pass, failures are counted. Open: no calls until a
 * time. Half-open: a bounded number of probes; enough good ones close it, a bad one opens it for longer.
 *
 * What a call ends with counts only in the state it began in: every change of state is a new generation, and an outcome
 * that carries an older one is ignored. So the stragglers of an outage cannot reopen a breaker that has healed, nor close one.
 */

export interface BreakerSettings {
  /** Failures in a row that open it. */
  readonly consecutiveFailures: number;
  /** Share of failures within a window that opens it, in (0, 1], once `minimumCalls` have ended in that window. */
  readonly failureRatio: number;
  readonly minimumCalls: number;
  readonly windowMs: number;
  /** First time open; doubles with every further opening up to the maximum, and starts anew after healing. */
  readonly openMs: number;
  readonly maxOpenMs: number;
  /** Probes under way at once, and good ones needed. */
  readonly probes: number;
  /** A probe of which nothing is heard for this long has gone with its process; its place is free again. */
  readonly probeTimeoutMs: number;
}

export const DEFAULT_BREAKER: BreakerSettings = {
  consecutiveFailures: 5,
  failureRatio: 0.5,
  minimumCalls: 20,
  windowMs: 30_000,
  openMs: 5_000,
  maxOpenMs: 120_000,
  probes: 1,
  probeTimeoutMs: 120_000,
};

interface Common {
  readonly generation: number;
  /** Openings since it last healed. */
  readonly openings: number;
}

export type BreakerState =
  | (Common & {
      readonly phase: "closed";
      readonly inRow: number;
      readonly windowStartMs: number;
      readonly succeeded: number;
      readonly failed: number;
    })
  | (Common & { readonly phase: "open"; readonly untilMs: number })
  | (Common & {
      readonly phase: "halfOpen";
      /** When each probe under way began. */
      readonly probesSinceMs: readonly number[];
      readonly succeeded: number;
    });

export type BreakerEvent =
  | { readonly type: "began"; readonly nowMs: number }
  | { readonly type: "succeeded" | "failed"; readonly generation: number; readonly nowMs: number }
  /** A call that ended without saying anything of the deployment: the client left, the request was wrong. */
  | { readonly type: "neutral"; readonly generation: number; readonly nowMs: number }
  /** The account has no money or the key is refused: open at once, one failure is proof enough. */
  | { readonly type: "tripped"; readonly generation: number; readonly nowMs: number };

export function closedBreaker(nowMs: number): BreakerState {
  return { phase: "closed", generation: 0, openings: 0, inRow: 0, windowStartMs: nowMs, succeeded: 0, failed: 0 };
}

/** May a call begin now? `probe` means yes, and its outcome decides. */
export type BreakerAdmission = "pass" | "probe" | "refuse";

/** The state at a time: an open breaker whose time is over is half-open, abandoned probes are forgotten. */
function aged(state: BreakerState, nowMs: number, settings: BreakerSettings): BreakerState {
  if (state.phase === "open" && nowMs >= state.untilMs) {
    const { generation, openings } = state;
    return { phase: "halfOpen", generation: generation + 1, openings, probesSinceMs: [], succeeded: 0 };
  }
  if (state.phase === "halfOpen") {
    const alive = state.probesSinceMs.filter((sinceMs) => nowMs - sinceMs < settings.probeTimeoutMs);
    return alive.length === state.probesSinceMs.length ? state : { ...state, probesSinceMs: alive };
  }
  if (state.phase === "closed" && nowMs - state.windowStartMs >= settings.windowMs) {
    return { ...state, windowStartMs: nowMs, succeeded: 0, failed: 0 };
  }
  return state;
}

export function admission(state: BreakerState, nowMs: number, settings: BreakerSettings): BreakerAdmission {
  const now = aged(state, nowMs, settings);
  if (now.phase === "closed") return "pass";
  if (now.phase === "open") return "refuse";
  return now.probesSinceMs.length < settings.probes ? "probe" : "refuse";
}

/** When a call may next begin; `nowMs` where it may already. */
export function nextAdmissionMs(state: BreakerState, nowMs: number, settings: BreakerSettings): number {
  if (admission(state, nowMs, settings) !== "refuse") return nowMs;
  if (state.phase === "open") return state.untilMs;
  const oldest = state.phase === "halfOpen" ? Math.min(...state.probesSinceMs) : nowMs;
  return oldest + settings.probeTimeoutMs;
}

function opened(state: BreakerState, nowMs: number, settings: BreakerSettings): BreakerState {
  const openMs = Math.min(settings.maxOpenMs, settings.openMs * 2 ** Math.min(state.openings, 30));
  return {
    phase: "open",
    generation: state.generation + 1,
    openings: state.openings + 1,
    untilMs: nowMs + openMs,
  };
}

function closedAfter(
  state: Extract<BreakerState, { phase: "closed" }>,
  hasFailed: boolean,
  nowMs: number,
  settings: BreakerSettings,
): BreakerState {
  const next = {
    ...state,
    inRow: hasFailed ? state.inRow + 1 : 0,
    succeeded: state.succeeded + (hasFailed ? 0 : 1),
    failed: state.failed + (hasFailed ? 1 : 0),
  };
  const ended = next.succeeded + next.failed;
  const isBad = ended >= settings.minimumCalls && next.failed >= ended * settings.failureRatio;
  return hasFailed && (isBad || next.inRow >= settings.consecutiveFailures) ? opened(state, nowMs, settings) : next;
}

function probedAfter(
  state: Extract<BreakerState, { phase: "halfOpen" }>,
  type: "succeeded" | "failed" | "neutral",
  nowMs: number,
  settings: BreakerSettings,
): BreakerState {
  if (type === "failed") return opened(state, nowMs, settings);
  const probesSinceMs = state.probesSinceMs.slice(1);
  const succeeded = state.succeeded + (type === "succeeded" ? 1 : 0);
  if (succeeded < settings.probes) return { ...state, probesSinceMs, succeeded };
  return { ...closedBreaker(nowMs), generation: state.generation + 1 };
}

/** The state after an event. A `began` that admission refuses changes nothing. */
export function breakerAfter(state: BreakerState, event: BreakerEvent, settings: BreakerSettings): BreakerState {
  const now = aged(state, event.nowMs, settings);
  if (event.type === "began") {
    if (now.phase !== "halfOpen" || now.probesSinceMs.length >= settings.probes) return now;
    return { ...now, probesSinceMs: [...now.probesSinceMs, event.nowMs] };
  }
  if (event.generation !== now.generation || now.phase === "open") return now;
  if (event.type === "tripped") return opened(now, event.nowMs, settings);
  if (now.phase === "halfOpen") return probedAfter(now, event.type, event.nowMs, settings);
  return event.type === "neutral" ? now : closedAfter(now, event.type === "failed", event.nowMs, settings);
}
