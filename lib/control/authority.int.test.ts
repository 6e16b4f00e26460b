/**
 * Every write of the console under every role: at a department, aimed at its sister; at the root; and from another organisation.
 * Who may not do it finds nothing there, whatever it is.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AppError } from "@/lib/domain/fault";
import type { Action, Principal, Role } from "@/lib/domain/role";
import { may, ROLES } from "@/lib/domain/role";
import { createTestControl, createTestKey, createTestOrganisation, testPrincipal } from "@/lib/testing/factories";
import type { TestControl, TestOrganisation } from "@/lib/testing/factories";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { createApiKey, freezeApiKey, revokeApiKey, rotateApiKey, unfreezeApiKey } from "./api-keys";
import { archiveBudget, createBudget, freezeBudget, unfreezeBudget, updateBudget } from "./budgets";
import { archiveConsumer, createConsumer, freezeConsumer, unfreezeConsumer, updateConsumer } from "./consumers";
import { applyFxImport, previewFxImport } from "./fx-imports";
import { grantBudget, revokeGrant } from "./grants";
import { upsertDeployment, upsertModel } from "./models";
import { updateOrganisation } from "./organisations";
import { activatePolicyVersion, assignPolicy, createPolicy, publishPolicyVersion } from "./policies";
import { undoPriceImport } from "./price-import-undo";
import { applyPriceImport, previewPriceImport } from "./price-imports";
import { addFxRate, addPrice } from "./prices";
import { testProvider } from "./provider-test";
import { upsertProvider } from "./providers";
import { setRateLimit } from "./rate-limits";
import { abortRollout, completeRollout, holdRollout, startRollout } from "./rollouts";
import { putTokenIssuer, removeTokenIssuer } from "./token-issuers";
import { undoChange } from "./undo";
import { createUser, removeMembership } from "./users";
import { cancelDeferredCall } from "./deferral-cancel";
import { retryWebhook } from "./webhook-deliveries";
import { replaceSecretOfWebhooks, revokeSecretOfWebhooks } from "./webhook-secrets";

let deps: TestControl;
let org: TestOrganisation;
let other: TestOrganisation;
/** What stands below the department whose people may not touch it, and of the whole organisation. */
let made: Awaited<ReturnType<typeof makeTargets>>;

beforeAll(async () => {
  deps = { ...createTestControl(await testDatabaseUrl(), testRedisUrl()), publishes: false };
  org = await createTestOrganisation(deps);
  other = await createTestOrganisation(deps, { models: [] });
  made = await makeTargets();
});
afterAll(async () => {
  await deps.close();
});

const budgetOf = (owner: object) =>
  ({
    ...{ organisationId: org.organisationId, consumerId: null, apiKeyId: null, name: "b", meter: "cost", ladder: null },
    ...{ periodKind: "month", limitAmount: "1000", overflowAmount: "0", enforcement: "enforce", environment: null },
    ...{ models: [], classes: [], ...owner },
  }) as Parameters<typeof createBudget>[2];
const issuerOf = (name: string): Parameters<typeof putTokenIssuer>[2] => ({
  ...{ organisationId: org.organisationId, name, kind: "jwks", issuer: `https://${name}.example` },
  ...{ jwksUrl: `https://${name}.example/keys`, audiences: ["spillway"], claims: { consumer: ["app"] } },
});

async function makeTargets() {
  const { organisationId } = org;
  const add = async (parentId: string, kind: "department" | "app", name: string): Promise<string> =>
    (await createConsumer(deps, testPrincipal, { organisationId, parentId, kind, name })).consumer.id;
  const sister = await add(organisationId, "department", "Sister");
  const app = await add(sister, "app", "Sister app");
  const { apiKey } = await createTestKey(deps, organisationId, app);
  const { budget, auditId } = await freezeBudget(deps, testPrincipal, {
    organisationId,
    budgetId: (await createBudget(deps, testPrincipal, budgetOf({ consumerId: sister }))).budget.id,
  });
  const keyBudget = (await createBudget(deps, testPrincipal, budgetOf({ apiKeyId: apiKey.id }))).budget;
  const grant = { organisationId, budgetId: keyBudget.id, amount: "5", reason: "test", endsAtMs: null };
  const { grant: granted } = await grantBudget(deps, testPrincipal, grant);
  const { policy } = await createPolicy(deps, testPrincipal, { organisationId, name: "other policy" });
  const draft = { organisationId, policyId: policy.id, document: {}, activate: false };
  const { version } = await publishPolicyVersion(deps, testPrincipal, draft);
  const person = { organisationId, consumerId: sister, role: "developer", email: `${sister}@example.com`, name: "P" };
  const { membership } = await createUser(deps, testPrincipal, { ...person, password: null } as Parameters<
    typeof createUser
  >[2]);
  return {
    sister,
    app,
    keyId: apiKey.id,
    budget,
    auditId,
    keyBudget,
    grantId: granted.id,
    policy,
    version,
    membership,
  };
}

interface Write {
  readonly action: Action;
  /** The node at which it bites. */
  readonly at: () => string;
  readonly run: (who: Principal) => Promise<unknown>;
}

const root = () => org.organisationId;
const sister = () => made.sister;
const app = () => made.app;
const own = <T extends object>(input: T) => ({ organisationId: org.organisationId, ...input });
const write = (action: Action, at: () => string, run: Write["run"]): Write => ({ action, at, run });
const PRICES = "model,currency,input\nnobody,USD,1\n";

const WRITES: Readonly<Record<string, Write>> = {
  createBudget: write("budget.write", sister, (who) => createBudget(deps, who, budgetOf({ consumerId: made.sister }))),
  "createBudget of a key": write("budget.write", app, (who) =>
    createBudget(deps, who, budgetOf({ apiKeyId: made.keyId })),
  ),
  "createBudget of a provider": write("budget.write", root, (who) =>
    createBudget(deps, who, budgetOf({ providerId: org.provider.id })),
  ),
  updateBudget: write("budget.write", sister, (who) =>
    updateBudget(deps, who, own({ budgetId: made.budget.id, expectedVersion: "0", limitAmount: "9" })),
  ),
  freezeBudget: write("budget.freeze", sister, (who) => freezeBudget(deps, who, own({ budgetId: made.budget.id }))),
  unfreezeBudget: write("budget.freeze", app, (who) => unfreezeBudget(deps, who, own({ budgetId: made.keyBudget.id }))),
  undoChange: write("budget.freeze", sister, (who) => undoChange(deps, who, own({ auditId: made.auditId }))),
  grantBudget: write("grant.write", sister, (who) =>
    grantBudget(deps, who, own({ budgetId: made.budget.id, amount: "1", reason: "more", endsAtMs: null })),
  ),
  revokeGrant: write("grant.write", app, (who) => revokeGrant(deps, who, own({ grantId: made.grantId }))),
  createApiKey: write("key.write", app, (who) =>
    createApiKey(
      deps,
      who,
      own({
        ...{ appId: made.app, name: "k", environment: "test" as const, trafficClass: "general", allowedIps: [] },
        ...{ entitledClasses: [], expiresAtMs: null },
      }),
    ),
  ),
  rotateApiKey: write("key.write", app, (who) =>
    rotateApiKey(deps, who, own({ apiKeyId: made.keyId, graceSeconds: 0 })),
  ),
  freezeApiKey: write("key.freeze", app, (who) => freezeApiKey(deps, who, own({ apiKeyId: made.keyId }))),
  unfreezeApiKey: write("key.freeze", app, (who) => unfreezeApiKey(deps, who, own({ apiKeyId: made.keyId }))),
  createConsumer: write("consumer.create", sister, (who) =>
    createConsumer(deps, who, own({ parentId: made.sister, kind: "team" as const, name: "t" })),
  ),
  updateConsumer: write("consumer.update", sister, (who) =>
    updateConsumer(deps, who, own({ consumerId: made.sister, costCentre: "1" })),
  ),
  freezeConsumer: write("consumer.freeze", app, (who) => freezeConsumer(deps, who, own({ consumerId: made.app }))),
  unfreezeConsumer: write("consumer.freeze", app, (who) => unfreezeConsumer(deps, who, own({ consumerId: made.app }))),
  "setRateLimit of a node": write("rate_limit.write", sister, (who) =>
    setRateLimit(deps, who, own({ consumerId: made.sister, apiKeyId: null, concurrency: 5 })),
  ),
  "setRateLimit of a key": write("rate_limit.write", app, (who) =>
    setRateLimit(deps, who, own({ consumerId: null, apiKeyId: made.keyId, concurrency: 5 })),
  ),
  "assignPolicy to a node": write("policy.assign", sister, (who) =>
    assignPolicy(deps, who, own({ consumerId: made.sister, apiKeyId: null, policyId: null })),
  ),
  "assignPolicy to a key": write("policy.assign", app, (who) =>
    assignPolicy(deps, who, own({ consumerId: null, apiKeyId: made.keyId, policyId: null })),
  ),
  createPolicy: write("policy.write", root, (who) => createPolicy(deps, who, own({ name: "default" }))),
  publishPolicyVersion: write("policy.write", root, (who) =>
    publishPolicyVersion(deps, who, own({ policyId: made.policy.id, document: {}, activate: false })),
  ),
  activatePolicyVersion: write("policy.write", root, (who) =>
    activatePolicyVersion(deps, who, own({ policyId: made.policy.id, policyVersionId: made.version.id })),
  ),
  startRollout: write("policy.write", root, (who) =>
    startRollout(deps, who, own({ policyId: made.policy.id, policyVersionId: made.version.id, percent: 5 })),
  ),
  upsertModel: write("model.write", root, (who) => upsertModel(deps, who, own({ name: "n", kind: "chat" as const }))),
  upsertDeployment: write("model.write", root, (who) =>
    upsertDeployment(
      deps,
      who,
      own({ modelId: org.models["sandbox-small"]?.id ?? "", providerId: org.provider.id, upstreamModel: "x" }),
    ),
  ),
  upsertProvider: write("model.write", root, (who) =>
    upsertProvider(deps, who, own({ name: "P", kind: "openai" as const, baseUrl: "http://127.0.0.1:1/v1" })),
  ),
  testProvider: write("model.write", root, (who) => testProvider(deps, who, own({ providerId: org.provider.id }))),
  addPrice: write("price.write", root, (who) =>
    addPrice(
      deps,
      who,
      own({ modelId: org.models["sandbox-small"]?.id ?? "", currency: "USD", perMillion: { input: "1", output: "1" } }),
    ),
  ),
  addFxRate: write("price.write", root, (who) => addFxRate(deps, who, own({ base: "EUR", quote: "USD", rate: "1.1" }))),
  previewPriceImport: write("price.write", root, (who) =>
    previewPriceImport(deps, who, own({ format: "csv" as const, text: PRICES, source: "s" })),
  ),
  applyPriceImport: write("price.write", root, (who) =>
    applyPriceImport(
      deps,
      who,
      own({ format: "csv" as const, text: PRICES, source: "s", digest: "0".repeat(64), confirmed: [] }),
    ),
  ),
  previewFxImport: write("price.write", root, (who) => previewFxImport(deps, who, own({ text: "x", source: "s" }))),
  applyFxImport: write("price.write", root, (who) =>
    applyFxImport(deps, who, own({ text: "x", source: "s", digest: "0".repeat(64), confirmed: [] })),
  ),
  putTokenIssuer: write("organisation.update", root, (who) => putTokenIssuer(deps, who, issuerOf(org.organisationId))),
  replaceSecretOfWebhooks: write("organisation.update", root, (who) => replaceSecretOfWebhooks(deps, who, own({}))),
  updateOrganisation: write("organisation.update", root, (who) => updateOrganisation(deps, who, own({ name: "N" }))),
  createUser: write("user.write", sister, (who) =>
    createUser(
      deps,
      who,
      own({
        ...{ consumerId: made.sister, role: "developer" as const, email: `x${made.sister}@example.com`, name: "X" },
        password: null,
      }),
    ),
  ),
};

/** Of what is gone after one success: only who is turned away is asked. */
const ENDINGS: Readonly<Record<string, Write>> = {
  archiveBudget: write("budget.write", sister, (who) => archiveBudget(deps, who, own({ budgetId: made.budget.id }))),
  archiveConsumer: write("consumer.update", app, (who) => archiveConsumer(deps, who, own({ consumerId: made.app }))),
  revokeApiKey: write("key.write", app, (who) => revokeApiKey(deps, who, own({ apiKeyId: made.keyId }))),
  removeMembership: write("user.write", sister, (who) =>
    removeMembership(deps, who, own({ membershipId: made.membership.id })),
  ),
  holdRollout: write("policy.write", root, (who) => holdRollout(deps, who, own({ rolloutId: "rol_x", held: true }))),
  abortRollout: write("policy.write", root, (who) => abortRollout(deps, who, own({ rolloutId: "rol_x" }))),
  completeRollout: write("policy.write", root, (who) => completeRollout(deps, who, own({ rolloutId: "rol_x" }))),
  undoPriceImport: write("price.write", root, (who) => undoPriceImport(deps, who, own({ importId: "pim_x" }))),
  revokeSecretOfWebhooks: write("organisation.update", root, (who) =>
    revokeSecretOfWebhooks(deps, who, own({ which: "all" as const })),
  ),
  cancelDeferredCall: write("key.write", root, (who) => cancelDeferredCall(deps, who, own({ deferredId: "dfr_x" }))),
  retryWebhook: write("organisation.update", root, (who) => retryWebhook(deps, who, own({ deliveryId: "whk_x" }))),
  removeTokenIssuer: write("organisation.update", root, (who) =>
    removeTokenIssuer(deps, who, own({ issuerId: "iss_x" })),
  ),
};

function personAt(organisationId: string, consumerId: string, role: Role): Principal {
  return { userId: `usr_${role}`, label: role, memberships: [{ organisationId, consumerId, role }] };
}

/** What came of it: "not_found" for who is turned away, and for nobody else. */
async function outcomeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "done",
    (error: unknown) => {
      if (error instanceof AppError) return error.code;
      throw error;
    },
  );
}

function pathTo(node: string): readonly string[] {
  if (node === org.organisationId) return [node];
  return node === made.app ? [org.organisationId, made.sister, made.app] : [org.organisationId, node];
}

describe.each(Object.keys(WRITES))("%s", (name) => {
  const { action, at, run } = WRITES[name] as Write;

  it("finds nothing for people of a sister department and of another organisation, whatever their role", async () => {
    for (const role of ROLES) {
      expect([role, await outcomeOf(run(personAt(org.organisationId, org.consumers.department, role)))]).toEqual([
        role,
        "not_found",
      ]);
      expect(await outcomeOf(run(personAt(other.organisationId, other.organisationId, role)))).toBe("not_found");
    }
  });

  it("is for those at the root whose role says so, and for no other", async () => {
    for (const role of ROLES) {
      const who = personAt(org.organisationId, org.organisationId, role);
      const isAllowed = may(who, action, { organisationId: org.organisationId, path: pathTo(at()) });
      expect([role, (await outcomeOf(run(who))) !== "not_found"]).toEqual([role, isAllowed]);
    }
  });
});

describe.each(Object.keys(ENDINGS))("%s", (name) => {
  const { action, at, run } = ENDINGS[name] as Write;

  it("finds nothing for anybody who may not", async () => {
    const people = ROLES.flatMap((role) => [
      personAt(org.organisationId, org.consumers.department, role),
      personAt(other.organisationId, other.organisationId, role),
      personAt(org.organisationId, org.organisationId, role),
    ]).filter((who) => !may(who, action, { organisationId: org.organisationId, path: pathTo(at()) }));
    for (const who of people) expect(await outcomeOf(run(who))).toBe("not_found");
  });
});

it("every route handler of the console asks for a right before it does anything", () => {
  const base = join(process.cwd(), "app/api/console");
  const files = readdirSync(base, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith("route.ts"));
  expect(files.length).toBeGreaterThan(30);
  const unasked = files.filter((file) => {
    const exported = readFileSync(join(base, file), "utf8").match(/^export .*$/gmu) ?? [];
    return !exported.every((line) => /^export const \w+ = (?!personWriteRoute)\w+Route\b/u.test(line));
  });
  // Only that somebody has signed in is asked where the first organisation of an installation is founded.
  expect(unasked).toEqual(["organisation/route.ts"]);
});
