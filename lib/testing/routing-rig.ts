/** A company whose model `primary` stands at a provider that fails, beside the sandbox's models; what callers and the ledger see. */
import type { PolicyDocument } from "@/lib/domain/policy";
import type { AnsweringProvider } from "./answering-provider";
import { startAnsweringProvider } from "./answering-provider";
import type { TestOrganisation, TestOrganisationOptions } from "./factories";
import type { GatewayHost } from "./gateway-contract/host";
import { post, raw, USER } from "./gateway-contract/host";
import type { Place, RouteModel } from "./gateway-contract/route-models";
import { addModel, addProvider, publish } from "./gateway-contract/route-models";
import { startTestBench } from "./running-gateway";
import { testDatabaseUrl, testRedisUrl } from "./services";

export const BUSY = { error: { message: "overloaded", type: "server_error", code: "server_is_overloaded" } };
export const BROKE = {
  error: { message: "You exceeded your current quota, check billing", code: "insufficient_quota" },
};
export const PRIMARY: RouteModel = {
  name: "primary",
  kind: "chat",
  rates: { inputPerToken: "0.00001", cacheReadPerToken: "0.000005", outputPerToken: "0.00003" },
};

export interface FailingCompany {
  readonly made: TestOrganisation;
  readonly provider: AnsweringProvider;
  /** The account at `provider`. */
  readonly account: string;
}

export interface Booked {
  readonly served: string;
  readonly requested: string;
  readonly provider: string;
  readonly attempt: number;
  readonly price: string;
  readonly outcome: string;
  readonly isEstimated: boolean;
  readonly explanation: Record<string, unknown>;
  readonly amount: string;
  readonly status: number | null;
  readonly requestId: string;
  /** 0: an attempt that failed at no cost. */
  readonly requests: string;
}

export type CompanyOptions = TestOrganisationOptions & {
  readonly places?: readonly Omit<Place, "providerId">[];
  /** Whose errors the provider answers with; OpenAI's unless given. */
  readonly vendor?: Parameters<typeof addProvider>[2];
};

export interface RoutingRig {
  readonly host: GatewayHost;
  /** `primary` stands at a provider that answers all calls alike, twice unless `places` says otherwise. */
  company(
    answer: readonly [status: number, body: object],
    policy: PolicyDocument,
    options?: CompanyOptions,
  ): Promise<FailingCompany>;
  /** One chat call of `primary`, unless the body says otherwise. */
  ask(made: TestOrganisation, more?: object, headers?: Record<string, string>): Promise<Response>;
  /** Entries of calls that were served or charged. */
  booked(made: TestOrganisation): Promise<Booked[]>;
  /** Every attempt, those that failed at no cost included. */
  attempts(made: TestOrganisation): Promise<Booked[]>;
  close(): Promise<void>;
}

/** Status, model served and the model it stands in for. */
export function served(answer: Response): (string | number | null)[] {
  const { headers, status } = answer;
  return [status, headers.get("x-spillway-model"), headers.get("x-spillway-stands-in-for")];
}

async function attemptsBy(host: GatewayHost, made: TestOrganisation): Promise<Booked[]> {
  await host.bench.book(made.organisationId);
  const { rows } = await host.bench.books.db.pool.query<Booked>(
    `SELECT model_served AS served, model_requested AS requested, provider_id AS provider, attempt, price_id AS price, outcome,
       is_estimated AS "isEstimated", explanation, amount::text, status_code AS status, request_id AS "requestId",
       COALESCE(usage->>'requests', '1') AS requests
     FROM ledger_entries WHERE organisation_id = $1 ORDER BY ledger_sequence`,
    [made.organisationId],
  );
  return rows;
}

async function bookedBy(host: GatewayHost, made: TestOrganisation): Promise<Booked[]> {
  return (await attemptsBy(host, made)).filter(({ requests }) => requests !== "0");
}

export async function startRoutingRig(): Promise<RoutingRig> {
  const bench = await startTestBench(await testDatabaseUrl(), testRedisUrl());
  const gateway = await bench.gateway({ retry: { baseDelayMs: 1 } });
  const providers: AnsweringProvider[] = [];
  const host: GatewayHost = {
    bench,
    baseURL: "http://gateway.test/api/v1",
    fetch: (input, init) => gateway.handle(new Request(input, init), { waitUntil: () => undefined }),
    close: () => bench.close(),
  };
  return {
    host,
    company: async (answer, policy, options = {}) => {
      const provider = await startAnsweringProvider(...answer);
      providers.push(provider);
      const { places = [{}, {}], vendor = "openai", ...rest } = options;
      const made = await bench.organisation({ ...rest, policy });
      const account = await addProvider(host, made, vendor, provider.url);
      await addModel(
        host,
        made,
        PRIMARY,
        places.map((place) => ({ ...place, providerId: account })),
      );
      await publish(host, made);
      return { made, provider, account };
    },
    ask: (made, more = {}, headers = {}) => {
      const init = post(
        made.apiKey.secret,
        JSON.stringify({ model: "primary", messages: USER, max_tokens: 8, ...more }),
      );
      return raw(host, "/chat/completions", { ...init, headers: { ...init.headers, ...headers } });
    },
    booked: (made) => bookedBy(host, made),
    attempts: (made) => attemptsBy(host, made),
    close: async () => {
      await Promise.all(providers.map((provider) => provider.close()));
      await bench.close();
    },
  };
}
