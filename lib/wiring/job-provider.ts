/** What the worker asks the provider of a batch or a response: by the account as it stands now, through the guard, with the stored secret. */
import { openSecret, providerSecretContext } from "@/lib/config/secret-box";
import type { JobProvider } from "@/lib/control/job-steps";
import type { JobJson } from "@/lib/db/provider-jobs";
import { findProvider, listProviderBoxes } from "@/lib/db/providers";
import type { Db } from "@/lib/db/client";
import type { JobFacts } from "@/lib/domain/provider-job";
import type { ProviderDocument } from "@/lib/domain/snapshot";
import { webStreamOf } from "@/lib/gateway/byte-stream";
import type { UpstreamResponse } from "@/lib/gateway/ports";
import { outboundPolicy } from "@/lib/net/outbound-policy";
import { adapterOf } from "@/lib/providers/adapters";
import { createHttpClient } from "@/lib/providers/http-client";

export interface JobProviderSettings {
  readonly db: Db;
  /** 32 bytes. */
  readonly masterKey: Buffer;
  readonly outboundAllow: readonly string[];
}

interface Question {
  readonly method?: "GET" | "POST";
  readonly query?: string;
  readonly isStream?: boolean;
}

const TIMEOUT_MS = 60_000;
/** The newest batches of an account that are looked through: the most a page may have. */
const RECENT = 100;

async function documentOf(
  { db }: JobProviderSettings,
  { organisationId, providerId }: JobFacts,
): Promise<ProviderDocument> {
  const provider = await findProvider(db.prisma, organisationId, providerId);
  if (!provider) throw new Error("the provider of a job is gone");
  const { id, kind, name, baseUrl, isExternal, disabledAt } = provider;
  const secretBox = (await listProviderBoxes(db.prisma, organisationId)).get(id) ?? null;
  return { id, kind, name, baseUrl, isExternal, secretBox, disabled: disabledAt !== null };
}

function objectOf(value: unknown): JobJson | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JobJson) : undefined;
}

async function jsonOf(answer: UpstreamResponse): Promise<JobJson> {
  const found = objectOf(JSON.parse(new TextDecoder().decode(await answer.bytes())));
  if (!found) throw new Error("the provider's answer is no object");
  return found;
}

/** A provider that is disabled is still asked: what it runs has to be paid. */
export function createJobProvider(settings: JobProviderSettings): JobProvider & { close(): Promise<void> } {
  const outbound = outboundPolicy({ allow: settings.outboundAllow });
  const client = createHttpClient({
    outbound,
    openSecret: (organisationId, { id, secretBox }) =>
      secretBox === null
        ? null
        : openSecret(settings.masterKey, Buffer.from(secretBox, "base64"), providerSecretContext(organisationId, id)),
  });
  /** Undefined where there is no such thing. */
  const ask = async (
    facts: JobFacts,
    route: string,
    { query = "", isStream = false, method = "GET" }: Question = {},
  ): Promise<UpstreamResponse | undefined> => {
    const provider = await documentOf(settings, facts);
    const path = adapterOf(provider).pathOf(provider, route, "");
    if (path === undefined) throw new Error("the provider does not serve this route any more");
    const separator = path.includes("?") ? "&" : "?";
    const answer = await client.send({
      ...{ organisationId: facts.organisationId, provider, method, body: "" },
      ...{ path: query === "" ? path : path + separator + query, headers: ["accept", "*/*"] },
      ...{ timeoutMs: TIMEOUT_MS, isStream },
    });
    if (answer.status < 300) return answer;
    answer.body.cancel();
    if (answer.status === 404) return undefined;
    throw new Error(`the provider answered ${String(answer.status)}`);
  };
  return {
    batch: async (facts, id) => {
      const answer = await ask(facts, `batches/${id}`);
      return answer && jsonOf(answer);
    },
    recent: async (facts) => {
      const answer = await ask(facts, "batches", { query: `limit=${String(RECENT)}` });
      const { data } = answer ? await jsonOf(answer) : { data: [] };
      const all: readonly unknown[] = Array.isArray(data) ? data : [];
      return all.map(objectOf).filter((one) => one !== undefined);
    },
    file: async (facts, fileId) => {
      const answer = await ask(facts, `files/${fileId}/content`, { isStream: true });
      return answer && (webStreamOf(answer.body) as unknown as AsyncIterable<Uint8Array>);
    },
    response: async (facts, id) => {
      const answer = await ask(facts, `responses/${id}`);
      return answer && jsonOf(answer);
    },
    cancelResponse: async (facts, id) => {
      const answer = await ask(facts, `responses/${id}/cancel`, { method: "POST" });
      return answer && jsonOf(answer);
    },
    close: () => client.close(),
  };
}
