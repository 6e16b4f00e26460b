/** A gateway without I/O for tests of random calls: documents of one organisation, a ledger that counts ends, an upstream that plays a script. */
import { composeApiKey, secretFromBytes } from "@/lib/domain/api-key";
import type { PriceRates } from "@/lib/domain/price-rates";
import type { ApiKeyDocument, ModelDocument } from "@/lib/domain/snapshot";
import { refusedBodyMember } from "@/lib/net/body-rules";
import { headersForCaller } from "@/lib/net/header-rules";
import { outboundPolicy } from "@/lib/net/outbound-policy";
import { adapterOf } from "@/lib/providers/adapters";
import { Breakers } from "@/lib/routing/breakers";
import { DEFAULT_RETRY } from "@/lib/routing/retry-plan";
import type { ByteSink, ByteStream } from "../byte-stream";
import { KnownKeys } from "../known-keys";
import type { GatewayDeps } from "../handler";
import type { GatewayRequest } from "../http";
import type { OrganisationSnapshot } from "../organisation-view";
import type { BudgetLedger, ProviderClient, ReserveOutcome, UpstreamResponse } from "../ports";
import { UpstreamFailure } from "../ports";

const ORGANISATION = "t0123456789a";
export const SECRET = composeApiKey("production", ORGANISATION, secretFromBytes(new Uint8Array(64).fill(7)) ?? "");
const KINDS = ["sandbox", "anthropic", "openai", "gemini"] as const;

const TEXT = { inputPerToken: "0.000001", outputPerToken: "0.00001", cacheReadPerToken: "0.0000001" };
/** Every kind of model, sold in several ways. */
const RATES: readonly (readonly [kind: string, rates: PriceRates])[] = [
  ["chat", TEXT],
  ["chat", { ...TEXT, webSearch: { medium: "0.01" }, audioOutputPerToken: "0.0001" }],
  ["chat", { ...TEXT, longContext: { steps: [{ aboveTokens: 5, inputPerToken: "0.00001" }] } }],
  ["completion", TEXT],
  ["embedding", { inputPerToken: "0.000001" }],
  ["image", { images: [{ size: "1024x1024", quality: "hd", perImage: "0.04" }] }],
  ["image", { ...TEXT, imageOutputPerToken: "0.00004" }],
  ["speech", { perCharacter: "0.00001" }],
  ["transcription", { inputPerSecond: "0.0001" }],
  ["moderation", { inputPerToken: "0" }],
  ["rerank", { perQuery: "0.002" }],
];

function model(kind: string, rates: PriceRates, index: number, providerId: string): ModelDocument {
  const step = { connectTimeoutMs: null, firstByteTimeoutMs: null, idleTimeoutMs: null };
  const name = `${kind}-${String(index)}-${providerId}`;
  return {
    ...{ id: name, name, kind, maxOutputTokens: 4096, contextTokens: null, isExternal: false, disabled: false },
    createdMs: 0,
    deployments: [0, 1].map((priority) => ({
      ...{ id: `${name}-${String(priority)}`, providerId, upstreamModel: "up", weight: 1, priority, region: null },
      ...{ timeoutMs: 1000, ...step },
    })),
    prices: [{ id: "p", currency: "USD", rates, effectiveFromMs: 0, effectiveToMs: null }],
  };
}

export const MODELS = RATES.flatMap(([kind, rates], index) => KINDS.map((id) => model(kind, rates, index, id)));

const SNAPSHOT: OrganisationSnapshot = {
  epoch: "1",
  documents: {
    organisation: {
      ...{ id: ORGANISATION, name: "O", currency: "USD", timeZone: "UTC", fiscalYearStartMonth: 1, weekStartsOn: 1 },
      ...{ locale: "en", budgetRefusalStatus: 429, topUpUrl: null },
    },
    fx: [],
    consumers: [
      {
        id: ORGANISATION,
        parentId: null,
        kind: "organization",
        name: "o",
        costCentre: "4711",
        policyId: null,
        frozen: false,
      },
      { id: "app", parentId: ORGANISATION, kind: "app", name: "app", costCentre: null, policyId: null, frozen: false },
    ],
    budgets: [
      {
        ...{ id: "b", consumerId: "app", apiKeyId: null, name: "b", meter: "cost", periodKind: "month" },
        ...{ enforcement: "enforce", ladder: null, environment: null, models: [], classes: [], perEndUser: false },
      },
    ],
    rateLimits: [],
    policies: [],
    models: MODELS,
    issuers: [],
    providers: KINDS.map((kind) => ({
      ...{ id: kind, kind, name: kind, baseUrl: "http://127.0.0.1:1/v1", secretBox: null },
      ...{ isExternal: false, disabled: false },
    })),
  },
};

const KEY: ApiKeyDocument = {
  ...{ keyId: "k", appId: "app", name: "k", environment: "production", trafficClass: "general", entitledClasses: [] },
  ...{
    isVip: false,
    allowedIps: [],
    scopes: [],
    entitledConsumers: [],
    policyId: null,
    validUntilMs: null,
    frozen: false,
  },
};

/** What the upstream does with one attempt. */
export interface ScriptedAnswer {
  readonly fails: "unserved" | "unknown" | null;
  readonly status: number;
  readonly isEvents: boolean;
  readonly text: string;
  /** Bytes after which the body breaks off; null where it does not. */
  readonly breaksAt: number | null;
}

/** Pieces of seven bytes, each in a turn of its own. */
function scriptedBody(bytes: Uint8Array, breaksAt: number | null): ByteStream {
  let isCancelled = false;
  const run = async (sink: ByteSink): Promise<void> => {
    for (let at = 0; at < bytes.length; at += 7) {
      await Promise.resolve();
      if (isCancelled) return;
      if (breaksAt !== null && at >= breaksAt) {
        sink.fail(new UpstreamFailure("unknown", "closed"));
        return;
      }
      sink.write(bytes.subarray(at, at + 7));
    }
    if (!isCancelled) sink.end();
  };
  return {
    start: (sink) => void run(sink),
    resume: () => undefined,
    cancel: () => {
      isCancelled = true;
    },
  };
}

function upstream({ status, isEvents, text, breaksAt }: ScriptedAnswer): UpstreamResponse {
  const bytes = new TextEncoder().encode(text);
  const broken = () => new UpstreamFailure("unknown", "closed");
  return {
    status,
    headers: { "content-type": isEvents ? "text/event-stream" : "application/json" },
    bytes: () => (breaksAt === null ? Promise.resolve(bytes) : Promise.reject(broken())),
    body: scriptedBody(bytes, breaksAt),
  };
}

export interface World {
  readonly deps: GatewayDeps;
  readonly faults: unknown[];
  /** Ends of each reservation, by its id. */
  readonly ends: ReadonlyMap<string, number>;
}

const RESERVED = { code: "reserved", plan: 0, rungBasisPoints: 0, binding: null, isOverflow: false, nowMs: 0 } as const;

/** `answers`: one for each attempt, the last one for all that follow. `outcomes` likewise, for reserves. */
export function world(answers: readonly ScriptedAnswer[], outcomes: readonly ReserveOutcome[] = [RESERVED]): World {
  const ends = new Map<string, number>();
  const faults: unknown[] = [];
  let sent = 0;
  let reserved = 0;
  const end = (id: string): Promise<void> => {
    ends.set(id, (ends.get(id) ?? 0) + 1);
    return Promise.resolve();
  };
  const voided = new Set<string>();
  const ledger: BudgetLedger = {
    reserve: ({ reservationId, previous, plans }) => {
      JSON.parse(`{"head":0${previous?.resultJson ?? "}"}`);
      if (previous && !voided.has(previous.reservationId)) {
        voided.add(previous.reservationId);
        void end(previous.reservationId);
      }
      const amounts = plans.flatMap((plan) => (plan === "denied" ? [] : plan));
      if (amounts.some((amount) => amount !== null && !/^[1-9]\d*$/u.test(amount)))
        throw new Error("a hold of nothing");
      const outcome = outcomes[Math.min(reserved, outcomes.length - 1)] ?? RESERVED;
      reserved += 1;
      if (outcome.code === "reserved") ends.set(reservationId, 0);
      return Promise.resolve(outcome);
    },
    extend: () => Promise.resolve({ code: "extended", isOverflow: false }),
    settle: ({ reservationId }, { resultJson }) => {
      JSON.parse(`{"head":0${resultJson}`);
      if (voided.has(reservationId)) return Promise.resolve();
      return end(reservationId);
    },
    void: ({ reservationId }) => {
      // The script has ended it already; saying so again changes nothing.
      if (voided.has(reservationId)) return Promise.resolve();
      voided.add(reservationId);
      return end(reservationId);
    },
    handOver: () => Promise.resolve(),
    progress: () => undefined,
    countRequest: () => Promise.resolve(undefined),
    read: () => Promise.resolve([]),
    refused: () => undefined,
  };
  const providers: ProviderClient = {
    send: ({ body }) => {
      if (typeof body === "string") JSON.parse(body);
      const answer = answers[Math.min(sent, answers.length - 1)];
      sent += 1;
      if (!answer) throw new Error("no answer");
      return answer.fails === null
        ? Promise.resolve(upstream(answer))
        : Promise.reject(new UpstreamFailure(answer.fails, "closed"));
    },
  };
  const policy = outboundPolicy({});
  const deps: GatewayDeps = {
    policies: {
      organisation: () => Promise.resolve(SNAPSHOT),
      apiKey: () => Promise.resolve(KEY),
      catchUp: () => Promise.resolve(),
    },
    ...{ ledger, providers, adapterOf, answerHeaders: headersForCaller, urlRefusal: () => null },
    ...{ tagger: { tag: () => "tag" }, clock: { nowMs: () => 1_790_000_000_000 }, hasher: { hash: () => "h" } },
    ...{ knownKeys: new KnownKeys(), verifyToken: () => Promise.resolve({ ok: false, reason: "unknown_issuer" }) },
    ...{ isAddressAllowed: () => true, mayUsePath: () => true, random: () => 0.5, newBoundary: () => "b" },
    ...{ maxBodyBytes: 1_000_000, maxFormBytes: 1_000_000, breakers: new Breakers(), retry: DEFAULT_RETRY },
    bodyGuard: (body) => refusedBodyMember(body, policy) ?? null,
    sleep: () => Promise.resolve(),
    openSpool: () => {
      throw new Error("nothing here is so large");
    },
    onFault: (error) => faults.push(error),
  };
  return { deps, faults, ends };
}

/** A JSON body to a path of the world, with its key in the header that the route's clients send it in. */
export function jsonRequest(
  url: string,
  body: object,
  signal: AbortSignal = new AbortController().signal,
): GatewayRequest {
  const [header, value] = url === "/v1/messages" ? ["x-api-key", SECRET] : ["authorization", `Bearer ${SECRET}`];
  return {
    ...{ method: "POST", url, signal },
    headers: { get: (name) => (name === header ? value : null) },
    bytes: () => Promise.resolve(new TextEncoder().encode(JSON.stringify(body))),
    chunks: () => {
      throw new Error("no form");
    },
  };
}
