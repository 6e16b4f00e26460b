/** Makes the sample company through the use cases that people use. */
import { randomBytes } from "node:crypto";
import { createApiKey } from "@/lib/control/api-keys";
import { createBudget } from "@/lib/control/budgets";
import { createConsumer } from "@/lib/control/consumers";
import type { ControlDeps } from "@/lib/control/deps";
import { createOrganisation } from "@/lib/control/organisations";
import { assignPolicy, createPolicy, publishPolicyVersion } from "@/lib/control/policies";
import { setRateLimit } from "@/lib/control/rate-limits";
import { createUser } from "@/lib/control/users";
import type { Budget } from "@/lib/domain/entities";
import { LADDER_TEMPLATES } from "@/lib/domain/ladder-templates";
import { parseDecimalToNanos } from "@/lib/domain/money";
import { systemPrincipal } from "@/lib/domain/role";
import { COMPANY_MONTH_LIMIT, COMPANY_NAME, DEPARTMENTS, PEOPLE } from "./company";
import type { SampleApp } from "./company";
import type { SeededApp } from "./history";

export const seedPrincipal = systemPrincipal("seed");

export interface SeededCompany {
  readonly organisationId: string;
  readonly apps: readonly SeededApp[];
  readonly budgets: readonly Budget[];
  /** The key that the seed prints: of the busiest core app. */
  readonly apiKey: string;
  readonly email: string;
  readonly password: string;
}

export async function buildCompany(deps: ControlDeps): Promise<SeededCompany> {
  const { organisation } = await createOrganisation(deps, seedPrincipal, {
    id: `lumen${randomBytes(4).toString("hex").slice(0, 7)}`,
    name: COMPANY_NAME,
    currency: "USD",
    timeZone: "Asia/Shanghai",
    locale: "zh-CN",
    isSample: true,
  });
  const builder = new CompanyBuilder(deps, organisation.id);
  await builder.setPolicy();
  await builder.addBudget(organisation.id, "公司月度预算 Company month", "month", COMPANY_MONTH_LIMIT, "0");
  for (const department of DEPARTMENTS) {
    const id = await builder.addNode(organisation.id, "department", department.name, department.costCentre);
    await builder.addBudget(id, "部门月度预算 Department month", "month", department.monthLimit, department.overflow);
    if (department.dayLimit !== undefined)
      await builder.addBudget(id, "每日红线 Daily red line", "day", department.dayLimit, "0.5");
    await builder.setRateLimit(id);
    for (const team of department.teams) {
      const teamId = await builder.addNode(id, "team", team.name, null);
      await builder.addBudget(teamId, "团队月度预算 Team month", "month", team.monthLimit, "0");
      for (const app of team.apps) await builder.addApp([organisation.id, id, teamId], app);
    }
  }
  const { email, password } = await builder.addPeople();
  const apiKey = builder.printedKey;
  if (apiKey === undefined) throw new Error("the sample company has no app");
  return { organisationId: organisation.id, apps: builder.apps, budgets: builder.budgets, apiKey, email, password };
}

class CompanyBuilder {
  readonly apps: SeededApp[] = [];
  readonly budgets: Budget[] = [];
  printedKey: string | undefined;
  private readonly nodes = new Map<string, string>();

  constructor(
    private readonly deps: ControlDeps,
    private readonly organisationId: string,
  ) {}

  async setPolicy(): Promise<void> {
    const { organisationId } = this;
    const { policy } = await createPolicy(this.deps, seedPrincipal, {
      organisationId,
      name: "公司默认 Company default",
    });
    await publishPolicyVersion(this.deps, seedPrincipal, {
      organisationId,
      policyId: policy.id,
      note: "Both ladders; large and medium models step down to the small one",
      document: {
        ladders: { ...LADDER_TEMPLATES },
        downgrade: { "sandbox-large": "sandbox-small", "sandbox-medium": "sandbox-small" },
        staticText: {
          "zh-CN": "内容服务正在休息，请稍后再试。",
          en: "The content service is taking a break. Please try again later.",
        },
      },
    });
    const assignment = { organisationId, consumerId: organisationId, apiKeyId: null, policyId: policy.id };
    await assignPolicy(this.deps, seedPrincipal, assignment);
  }

  async addNode(
    parentId: string,
    kind: "department" | "team" | "app",
    name: string,
    costCentre: string | null,
  ): Promise<string> {
    const input = { organisationId: this.organisationId, parentId, kind, name, costCentre };
    const { consumer } = await createConsumer(this.deps, seedPrincipal, input);
    this.nodes.set(name, consumer.id);
    return consumer.id;
  }

  async addBudget(
    consumerId: string,
    name: string,
    periodKind: "day" | "month",
    limit: string,
    overflow: string,
  ): Promise<void> {
    const { budget } = await createBudget(this.deps, seedPrincipal, {
      organisationId: this.organisationId,
      consumerId,
      apiKeyId: null,
      name,
      meter: "cost",
      periodKind,
      limitAmount: parseDecimalToNanos(limit, "halfEven").toString(),
      overflowAmount: parseDecimalToNanos(overflow, "halfEven").toString(),
      enforcement: "enforce",
      ladder: periodKind === "day" ? "daily-red-line" : "monthly-department",
      environment: null,
      models: [],
      classes: [],
    });
    this.budgets.push(budget);
  }

  async setRateLimit(consumerId: string): Promise<void> {
    const limits = { requestsPerMinute: 1_200, burstRequests: 240, tokensPerMinute: 8_000_000, concurrency: 128 };
    const input = { organisationId: this.organisationId, consumerId, apiKeyId: null, ...limits };
    await setRateLimit(this.deps, seedPrincipal, input);
  }

  async addApp(above: readonly string[], app: SampleApp): Promise<void> {
    const { organisationId } = this;
    const appId = await this.addNode(above.at(-1) ?? organisationId, "app", app.name, null);
    if (app.dayLimit !== undefined) await this.addBudget(appId, "每日红线 Daily red line", "day", app.dayLimit, "0.5");
    if (app.monthLimit !== undefined)
      await this.addBudget(appId, "应用月度预算 App month", "month", app.monthLimit, "0");
    const { apiKey, secret } = await createApiKey(this.deps, seedPrincipal, {
      organisationId,
      appId,
      name: `${app.name.split(" ").at(-1) ?? app.name} production`,
      environment: "production",
      trafficClass: app.trafficClass,
      entitledClasses: app.trafficClass === "core" ? ["general"] : [],
      expiresAtMs: null,
      allowedIps: [],
      isVip: app.isVip ?? false,
    });
    this.printedKey ??= secret;
    this.apps.push({ app, appId, apiKeyId: apiKey.id, path: [...above, appId] });
  }

  /** Everyone gets a password of their own; only the first one's is ever told. */
  async addPeople(): Promise<{ email: string; password: string }> {
    let first: { email: string; password: string } | undefined;
    for (const person of PEOPLE) {
      const password = randomBytes(15).toString("base64url");
      const consumerId = person.at === null ? this.organisationId : (this.nodes.get(person.at) ?? this.organisationId);
      await createUser(this.deps, seedPrincipal, {
        organisationId: this.organisationId,
        email: person.email,
        name: person.name,
        locale: "zh-CN",
        password,
        role: person.role,
        consumerId,
      });
      first ??= { email: person.email, password };
    }
    if (first === undefined) throw new Error("the sample company has nobody");
    return first;
  }
}
