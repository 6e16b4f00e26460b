/** State of one request, one type per finished stage: a stage takes what the stages before it have made. */
import type { ApiKeyDocument } from "@/lib/domain/snapshot";
import type { CompiledCall } from "./compiled-call";
import type { CallerChain, OrganisationView } from "./organisation-view";
import type { UpstreamErrorKind } from "@/lib/routing/upstream-error";
import type { BudgetReading } from "./ports";
import type { Serving } from "./serving";
import type { CountedInput } from "./stages/estimate";
import type { Slices } from "./stages/slices";
import type { RouteRequest } from "./wire/routes/route-request";

export interface Received {
  readonly requestId: string;
  readonly startedMs: number;
  /** Name of the route in the ledger. */
  readonly route: string;
  /** The path behind `/v1/`, without query. */
  readonly path: string;
  readonly language: "en" | "zh-CN";
}

export interface Authenticated extends Received {
  /** For a token a document of this call only: `keyId` is its issuer's, `appId` the consumer it speaks for. */
  readonly key: ApiKeyDocument;
  /** Tells callers apart also where they come with tokens of one issuer. */
  readonly callerId: string;
  readonly view: OrganisationView;
  readonly chain: CallerChain;
  /** The person behind the application, by a token's proof or the caller's header; null where neither says. */
  readonly endUser: string | null;
}

export interface Classified extends Authenticated {
  readonly trafficClass: string;
  /** A class that was claimed without being entitled to it: ignored and noted. */
  readonly ignoredClaim: string | null;
  /** As the caller names it: noted with the call, and counted where the policy says so. */
  readonly session: string | null;
}

/** An attempt that cost nothing and was followed by another: where it went and what came of it. */
export interface FailedBefore {
  readonly model: string;
  readonly deploymentId: string;
  readonly failure: UpstreamErrorKind;
  /** Null where there was no answer. */
  readonly status: number | null;
}

/** Held: the reservation stands, the plan is chosen. */
export interface Held {
  readonly caller: Classified;
  readonly request: RouteRequest;
  readonly call: CompiledCall;
  readonly serving: Serving;
  readonly planNumber: number;
  readonly reservationId: string;
  /** Number of the reservation: counting anew takes one, too. */
  readonly attempt: number;
  /** Attempts of this call before this one. */
  readonly before: readonly FailedBefore[];
  /** Providers and deployments that were passed over: their own budgets had no room for this call. */
  readonly spent: ReadonlySet<string>;
  readonly heldAmount: bigint;
  readonly heldInputTokens: number;
  readonly heldOutputTokens: number;
  /** How much is held by now, where a stream's hold follows it; null where all is held from the beginning. */
  readonly slices: Slices | null;
  /** Output cap to write into the upstream body; null where the caller stated one. */
  readonly writtenCap: number | null;
  /** Where the input was counted before the hold: what settlement teaches about counts. */
  readonly counted: CountedInput | null;
  /** A stricter plan or the overflow was taken for want of room: a tighter hold may do better. */
  readonly isTight: boolean;
  readonly rungBasisPoints: number;
  readonly isOverflow: boolean;
  readonly binding: BudgetReading | null;
  /** It passes without the store. */
  readonly isDegraded: boolean;
}
