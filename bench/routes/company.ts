/** Two companies in which a key stands in each state that refuses, and one key that is refused nothing. */
import { upsertDeployment, upsertModel } from "@/lib/control/models";
import { addPrice } from "@/lib/control/prices";
import { upsertProvider } from "@/lib/control/providers";
import { insertModel } from "@/lib/db/models";
import { newId } from "@/lib/domain/ids";
import { testPrincipal } from "@/lib/testing/factories";
import type { Company, CompanyKey, NodeSpec, UnpublishedCompany } from "../harness/company";
import { createCompany } from "../harness/company";
import type { BenchStack } from "../harness/stack";
import type { Reason } from "./reasons";
import { OUTSIDE, PLENTY, POLICY, UNPRICED } from "./reasons";
import type { RouteModel } from "./samples";
import { ROUTE_MODELS } from "./samples";

export interface RefusedKey {
  readonly reason: Reason;
  readonly company: Company;
  readonly key: CompanyKey;
}

const HEALTHY = "healthy";

/** Department, team and app of one key's own, with the reason's budget where it belongs. */
function branchOf({ name, budget, key = {} }: Pick<Reason, "name" | "budget" | "key">): NodeSpec {
  const at = (kind: string) => (budget?.at === kind ? { budget: budget.spec } : {});
  const app = { name, kind: "app" as const, ...at("app"), keys: [{ ...key, ...at("key") }] };
  const team = { name: `team of ${name}`, kind: "team" as const, ...at("team"), children: [app] };
  return { name: `department of ${name}`, kind: "department", ...at("department"), children: [team] };
}

type PlacedModel = RouteModel & {
  readonly upstreamModel: string;
  readonly isExternal: boolean;
  readonly providerId: string;
  readonly isPriced: boolean;
};

/** The kind `passthrough` is one that the use case does not know: such a model is written as a row. */
async function modelIdOf({ deps, organisationId }: UnpublishedCompany, model: PlacedModel): Promise<string> {
  const { name, kind, isExternal } = model;
  const maxOutputTokens = kind === "chat" || kind === "completion" ? 16_384 : null;
  const draft = { organisationId, name, maxOutputTokens, isExternal };
  if (kind !== "passthrough") return (await upsertModel(deps, testPrincipal, { ...draft, kind })).model.id;
  const id = newId("mod", Date.now());
  return (await insertModel(deps.db.prisma, { ...draft, id, kind, contextTokens: null })).id;
}

async function addModel(made: UnpublishedCompany, model: PlacedModel): Promise<void> {
  const { deps, organisationId } = made;
  const { upstreamModel, providerId, rates } = model;
  const modelId = await modelIdOf(made, model);
  await upsertDeployment(deps, testPrincipal, { organisationId, modelId, providerId, upstreamModel });
  if (!model.isPriced) return;
  await addPrice(deps, testPrincipal, { organisationId, modelId, currency: "USD", rates, effectiveFromMs: 0 });
}

/** Every model three times: external, without a price, and at an external provider. */
async function addModels(made: UnpublishedCompany, origin: string): Promise<void> {
  const { deps, organisationId, providerId, providerSecret: secret } = made;
  const account = {
    organisationId,
    name: "Sandbox outside",
    kind: "sandbox" as const,
    baseUrl: `${origin}/v1`,
    secret,
  };
  const { provider } = await upsertProvider(deps, testPrincipal, {
    ...account,
    isExternal: true,
    billingMode: "request",
  });
  for (const model of ROUTE_MODELS) {
    const { name: upstreamModel } = model;
    const inside = { ...model, upstreamModel, isExternal: true, providerId };
    const outside = { ...model, upstreamModel, isExternal: false, providerId: provider.id };
    await addModel(made, { ...inside, isPriced: true });
    await addModel(made, { ...inside, name: upstreamModel + UNPRICED, isPriced: false });
    await addModel(made, { ...outside, name: upstreamModel + OUTSIDE, isPriced: true });
  }
}

async function bringIntoState(made: UnpublishedCompany, reason: Reason): Promise<void> {
  const key = made.keys.find(({ app }) => app === reason.name);
  const idOf = (name: string): string => made.nodes.get(name) ?? "";
  if (key === undefined) throw new Error(`no key for ${reason.name}`);
  await reason.make?.({
    made,
    key,
    department: idOf(`department of ${reason.name}`),
    team: idOf(`team of ${reason.name}`),
    app: idOf(reason.name),
  });
}

async function makeCompany(stack: BenchStack, list: readonly Reason[]): Promise<Company> {
  const top = list.find(({ budget }) => budget?.at === "organization");
  return createCompany(stack, {
    root: {
      name: "company",
      kind: "organization",
      budget: top?.budget?.spec ?? { limit: PLENTY },
      // The first key is the one that a company is asked with whether it is served.
      children: [branchOf({ name: HEALTHY }), ...list.map(branchOf)],
    },
    policy: POLICY,
    extend: async (made) => {
      await addModels(made, stack.sandbox.url);
      for (const reason of list) await bringIntoState(made, reason);
    },
  });
}

/** Resolves once every gateway process serves both. `healthy` is in the company whose own budget is plenty. */
export async function makeCompanies(
  stack: BenchStack,
  list: readonly Reason[],
): Promise<{
  readonly companies: readonly Company[];
  readonly refused: readonly RefusedKey[];
  readonly healthy: string;
}> {
  const isTop = ({ budget }: Reason): boolean => budget?.at === "organization";
  const groups = [list.filter((reason) => !isTop(reason)), list.filter(isTop)];
  const companies = await Promise.all(groups.map((group) => makeCompany(stack, group)));
  const keyOf = (company: Company | undefined, app: string): CompanyKey | undefined =>
    company?.keys.find((key) => key.app === app);
  const healthy = keyOf(companies[0], HEALTHY);
  if (healthy === undefined) throw new Error("there is no healthy key");
  const refused = list.flatMap((reason) => {
    const company = companies[isTop(reason) ? 1 : 0];
    const key = keyOf(company, reason.name);
    return company && key ? [{ reason, company, key }] : [];
  });
  return { companies, refused, healthy: healthy.secret };
}
