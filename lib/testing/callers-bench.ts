/** Calls by key and by token through a real gateway, with an identity provider on loopback, and what they came to. */
import { expect } from "vitest";
import { createApiKey } from "@/lib/control/api-keys";
import { createBudget } from "@/lib/control/budgets";
import { createConsumer } from "@/lib/control/consumers";
import { putTokenIssuer } from "@/lib/control/token-issuers";
import type { IdentityProvider, Signer } from "@/lib/identity/testing/identity-provider";
import { signer, startIdentityProvider } from "@/lib/identity/testing/identity-provider";
import type { RunningGateway } from "@/lib/wiring/gateway";
import type { TestOrganisation } from "./factories";
import { testPrincipal, uniqueOrganisationId } from "./factories";
import type { TestBench } from "./running-gateway";
import { startTestBench } from "./running-gateway";
import { testDatabaseUrl, testRedisUrl } from "./services";

interface Answered {
  readonly status: number;
  readonly code: string | undefined;
  readonly error: Readonly<Record<string, unknown>> | undefined;
  readonly headers: Headers;
}

interface Booked {
  readonly app_id: string;
  readonly api_key_id: string;
  readonly consumer_path: string[];
  readonly end_user: string | null;
}

export class CallersBench {
  private constructor(
    readonly bench: TestBench,
    private readonly gateway: RunningGateway,
    readonly idp: IdentityProvider,
    readonly key: Signer,
    private readonly faults: unknown[],
  ) {}

  static async start(): Promise<CallersBench> {
    const faults: unknown[] = [];
    const bench = await startTestBench(await testDatabaseUrl(), testRedisUrl());
    const gateway = await bench.gateway({ onFault: (error) => faults.push(error) });
    const [idp, key] = await Promise.all([startIdentityProvider(), signer("k1")]);
    return new CallersBench(bench, gateway, idp, key, faults);
  }

  /** Before each test: the provider publishes its key and nobody has asked it yet. */
  reset(): void {
    this.idp.keys = [this.key.publicJwk];
    this.idp.respond = undefined;
    this.idp.calls = [];
  }

  async close(): Promise<void> {
    this.idp.close();
    await this.bench.close();
    expect(this.faults).toEqual([]);
  }

  async call(secret: string, headers: Record<string, string> = {}, body: object = {}): Promise<Answered> {
    const request = new Request("http://gateway.test/v1/chat/completions", {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, ...headers },
      body: JSON.stringify({
        ...{ model: "sandbox-small", max_tokens: 16, messages: [{ role: "user", content: "hello" }] },
        ...body,
      }),
    });
    const answer = await this.gateway.handle(request, { waitUntil: () => undefined });
    const { error } = (await answer.json()) as { error?: { readonly code?: string } & Record<string, unknown> };
    return { status: answer.status, code: error?.code, error, headers: answer.headers };
  }

  /** An issuer that the gateway has heard of; opaque tokens where a prefix is given. `token` signs for the app. */
  async issuerOf(made: TestOrganisation, opaque?: { readonly tokenPrefix: string }) {
    const { organisationId } = made;
    const issuer = `https://login.${organisationId}.example/`;
    const endpoint = `${this.idp.url}/${organisationId}`;
    const { issuer: saved } = await putTokenIssuer(this.bench.control, testPrincipal, {
      ...{ organisationId, name: "login", issuer, audiences: ["spillway"] },
      claims: { consumer: ["azp"], user: ["sub"], scopes: ["scope"] },
      consumers: { crm: made.consumers.app },
      ...(opaque
        ? { kind: "introspection", introspectionUrl: endpoint, clientId: "spillway", clientSecret: "s3cret", ...opaque }
        : { kind: "jwks", jwksUrl: endpoint }),
    });
    const claims = { iss: issuer, aud: "spillway", azp: "crm", sub: "Ada", scope: "chat" };
    const token = (changes: object = {}) =>
      this.key.sign({ ...claims, exp: Math.floor(Date.now() / 1000) + 600, ...changes });
    const plain = await token();
    await expect.poll(() => this.whoAmI(plain), { timeout: 1_000, interval: 20 }).not.toBe(401);
    this.idp.calls = [];
    return { id: saved.id, issuer, endpoint: new URL(endpoint).pathname, token };
  }

  /** Quotas of requests are easy to count in: a call is one. */
  async quota(made: TestOrganisation, target: { consumerId?: string; apiKeyId?: string }, facts = {}): Promise<string> {
    const { budget } = await createBudget(this.bench.control, testPrincipal, {
      ...{ organisationId: made.organisationId, consumerId: null, apiKeyId: null, name: `q ${uniqueOrganisationId()}` },
      ...{ meter: "requests", periodKind: "month", limitAmount: "2", overflowAmount: "0", enforcement: "enforce" },
      ...{ ladder: null, environment: null, models: [], classes: [] },
      ...target,
      ...facts,
    });
    return budget.id;
  }

  /** What a budget has settled once nothing is held. */
  async settled(made: TestOrganisation, budgetId: string): Promise<bigint> {
    const read = () => this.bench.counter(made.organisationId, budgetId);
    await expect.poll(async () => (await read()).held).toBe(0n);
    return (await read()).settled;
  }

  /** The organisation's ledger, oldest first. */
  async booked(made: TestOrganisation): Promise<Booked[]> {
    await this.settled(made, made.budgets.organisation?.id ?? "");
    await this.bench.book(made.organisationId);
    const { rows } = await this.bench.control.db.pool.query<Booked>(
      `SELECT app_id, api_key_id, consumer_path, end_user FROM ledger_entries WHERE organisation_id = $1 ORDER BY ledger_sequence`,
      [made.organisationId],
    );
    return rows;
  }

  /** One more app, in the department. */
  async app(made: TestOrganisation, name: string): Promise<string> {
    const { organisationId, consumers } = made;
    const input = { organisationId, parentId: consumers.department, kind: "app" as const, name };
    return (await createConsumer(this.bench.control, testPrincipal, input)).consumer.id;
  }

  /** A user below the app. */
  async user(made: TestOrganisation, name: string): Promise<string> {
    const input = { organisationId: made.organisationId, parentId: made.consumers.app, kind: "user" as const, name };
    return (await createConsumer(this.bench.control, testPrincipal, input)).consumer.id;
  }

  /** One more key of the organisation's app. */
  async keyFor(made: TestOrganisation, entitledConsumers: string[]) {
    return createApiKey(this.bench.control, testPrincipal, {
      ...{ organisationId: made.organisationId, appId: made.consumers.app, name: uniqueOrganisationId() },
      ...{ environment: "production", trafficClass: "general", entitledClasses: [], expiresAtMs: null },
      ...{ allowedIps: [], entitledConsumers },
    });
  }

  private async whoAmI(secret: string): Promise<number> {
    const request = new Request("http://gateway.test/v1/me", { headers: { authorization: `Bearer ${secret}` } });
    return (await this.gateway.handle(request, { waitUntil: () => undefined })).status;
  }
}
