/** Every reason to refuse a call: how a key gets into that state, and what its calls are answered. */
import { freezeApiKey, revokeApiKey } from "@/lib/control/api-keys";
import { freezeBudget } from "@/lib/control/budgets";
import { freezeConsumer } from "@/lib/control/consumers";
import { assignPolicy, createPolicy, publishPolicyVersion } from "@/lib/control/policies";
import { setRateLimit } from "@/lib/control/rate-limits";
import { composeApiKey } from "@/lib/domain/api-key";
import type { ActionKind, Ladder, PolicyDocument } from "@/lib/domain/policy";
import { testPrincipal } from "@/lib/testing/factories";
import type { BudgetSpec, CompanyKey, KeySpec, NodeKind, UnpublishedCompany } from "../harness/company";

/** What a key, its app and what is above them are called while they are made. */
export interface Branch {
  readonly made: UnpublishedCompany;
  readonly key: CompanyKey;
  readonly department: string;
  readonly team: string;
  readonly app: string;
}

export interface Reason {
  readonly name: string;
  /** As OpenAI's routes say it. */
  readonly status: number;
  readonly code: string;
  /** The budget that stands in the way. */
  readonly budget?: { readonly at: NodeKind | "key"; readonly spec: BudgetSpec };
  readonly key?: KeySpec;
  /** Brings the key into its state, before the company is published. */
  readonly make?: (branch: Branch) => Promise<unknown>;
  /** One call that is served before the refused ones: it uses the budget up, or all that a minute allows. */
  readonly isUsed?: boolean;
  /** A call that is under way all the while. */
  readonly isBusy?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** The name under which the model is asked for. */
  readonly modelName?: (name: string) => string;
  /** What is presented instead of the key. */
  readonly presented?: (key: CompanyKey, organisationId: string) => string;
}

/**
 * What the call of `isUsed` is billed, at 0.15 and 0.60 USD per million: more input than the bound of its body, so that the
 * hold fits into a budget that the bill then fills to the last nano.
 */
export const USE = { promptTokens: 1000, completionTokens: 10 } as const;
export const PLENTY = 1_000_000_000_000n;
const ALL_OF = {
  cost: { limit: 156_000n },
  total_tokens: { limit: 1010n, meter: "total_tokens" },
  input_tokens: { limit: 1000n, meter: "input_tokens" },
  output_tokens: { limit: 10n, meter: "output_tokens" },
  requests: { limit: 1n, meter: "requests" },
} as const satisfies Record<string, BudgetSpec>;

export const UNPRICED = "-unpriced";
export const OUTSIDE = "-outside";

const LADDER_ACTIONS = ["protect", "cache_only", "defer", "static", "refuse"] as const satisfies readonly ActionKind[];

/** Its only rung holds from the first call on. */
function ladderOf(kind: ActionKind): Ladder {
  return { rungs: [{ atBasisPoints: 0, name: kind, actions: { "*": { kind } } }], overflow: "none" };
}

export const POLICY: PolicyDocument = {
  ladders: Object.fromEntries(LADDER_ACTIONS.map((kind) => [kind, ladderOf(kind)])),
  staticText: { en: "Back soon." },
};

function spent(at: NodeKind | "key"): Reason {
  const code = `${at.toUpperCase()}_BUDGET_EXHAUSTED`;
  return { name: `${at} budget spent`, status: 429, code, budget: { at, spec: ALL_OF.cost }, isUsed: true };
}

function quotaGone(meter: Exclude<keyof typeof ALL_OF, "cost">, at: "app" | "key"): Reason {
  const code = `${at.toUpperCase()}_QUOTA_EXHAUSTED`;
  return { name: `${meter} quota gone`, status: 429, code, budget: { at, spec: ALL_OF[meter] }, isUsed: true };
}

function rung(ladder: (typeof LADDER_ACTIONS)[number]): Reason {
  const code = ladder === "refuse" ? "APP_BUDGET_EXHAUSTED" : "PROTECTED_RUNG";
  return { name: `rung ${ladder}`, status: 429, code, budget: { at: "app", spec: { limit: PLENTY, ladder } } };
}

function frozen(what: string, make: NonNullable<Reason["make"]>): Reason {
  return { name: `${what} frozen`, status: 403, code: "consumer_frozen", make };
}

function limited(name: string, code: string, limit: object, more: Partial<Reason> = {}): Reason {
  const make = ({ made, app }: Branch) =>
    setRateLimit(made.deps, testPrincipal, {
      organisationId: made.organisationId,
      consumerId: app,
      apiKeyId: null,
      ...limit,
    });
  return { name, status: 429, code, make, ...more };
}

async function denyAllModels({ made, app }: Branch): Promise<void> {
  const { deps, organisationId } = made;
  const { policy } = await createPolicy(deps, testPrincipal, { organisationId, name: "no model" });
  const document = { models: { deny: ["*"] } };
  await publishPolicyVersion(deps, testPrincipal, { organisationId, policyId: policy.id, document });
  await assignPolicy(deps, testPrincipal, { organisationId, consumerId: app, apiKeyId: null, policyId: policy.id });
}

const unknownKey = { status: 401, code: "invalid_api_key" };
const forbidden = { status: 403, code: "consumer_forbidden" };
const walled = { status: 403, code: "environment_forbidden", key: { environment: "test" as const } };

/** How long the key lives that is to be dead when it is used. */
export const EXPIRES_IN_MS = 3_000;

export const REASONS: readonly Reason[] = [
  ...(["organization", "department", "team", "app", "key"] as const).map(spent),
  ...[quotaGone("total_tokens", "app"), quotaGone("input_tokens", "app"), quotaGone("output_tokens", "app")],
  quotaGone("requests", "key"),
  ...LADDER_ACTIONS.map(rung),
  frozen("department", ({ made, department: consumerId }) =>
    freezeConsumer(made.deps, testPrincipal, { ...made, consumerId }),
  ),
  frozen("team", ({ made, team: consumerId }) => freezeConsumer(made.deps, testPrincipal, { ...made, consumerId })),
  frozen("app", ({ made, app: consumerId }) => freezeConsumer(made.deps, testPrincipal, { ...made, consumerId })),
  frozen("key", ({ made, key }) => freezeApiKey(made.deps, testPrincipal, { ...made, apiKeyId: key.id })),
  {
    ...frozen("budget", ({ made, key }) =>
      freezeBudget(made.deps, testPrincipal, { ...made, budgetId: key.budget?.id ?? "" }),
    ),
    budget: { at: "key", spec: { limit: PLENTY } },
  },
  { name: "key expired", ...unknownKey, key: { expiresInMs: EXPIRES_IN_MS } },
  {
    name: "key revoked",
    ...unknownKey,
    make: ({ made, key }) => revokeApiKey(made.deps, testPrincipal, { ...made, apiKeyId: key.id }),
  },
  {
    name: "key unknown",
    ...unknownKey,
    presented: (_key, organisationId) => composeApiKey("production", organisationId, "0".repeat(32)),
  },
  { name: "key misspelt", ...unknownKey, presented: (key) => `${key.secret.slice(0, -1)}!` },
  { name: "scope not given", ...forbidden, key: { scopes: ["models"] } },
  { name: "address not allowed", ...forbidden, key: { allowedIps: ["192.0.2.1"] } },
  { name: "other consumer named", ...forbidden, headers: { "x-consumer-id": "somebody-else" } },
  { name: "model not allowed", status: 403, code: "model_not_allowed", make: denyAllModels },
  { name: "model unknown", status: 404, code: "model_not_found", modelName: (name) => `${name}-unknown` },
  { name: "price missing", status: 422, code: "price_missing", modelName: (name) => name + UNPRICED },
  { name: "test key, external model", ...walled },
  { name: "test key, external provider", ...walled, modelName: (name) => name + OUTSIDE },
  limited("rate", "rate_limit_exceeded", { requestsPerMinute: 1, burstRequests: 1 }, { isUsed: true }),
  limited("tokens per minute", "rate_limit_exceeded", { tokensPerMinute: 1 }, { isUsed: true }),
  limited("concurrency", "concurrency_limit_exceeded", { concurrency: 1 }, { isBusy: true }),
  { name: "per-call ceiling", status: 400, code: "max_cost_exceeded", headers: { "x-spillway-max-cost": "0" } },
];
