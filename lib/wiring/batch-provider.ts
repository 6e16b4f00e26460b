/** What the worker asks the provider of a batch: by the account as it stands now, through the guard, with the stored secret. */
import { openSecret, providerSecretContext } from "@/lib/config/secret-box";
import type { BatchProvider } from "@/lib/control/batches";
import type { BatchJson } from "@/lib/db/provider-batches";
import { findProvider, listProviderBoxes } from "@/lib/db/providers";
import type { Db } from "@/lib/db/client";
import type { ProviderDocument } from "@/lib/domain/snapshot";
import type { BatchFacts } from "@/lib/domain/stored-object";
import { webStreamOf } from "@/lib/gateway/byte-stream";
import type { UpstreamResponse } from "@/lib/gateway/ports";
import { outboundPolicy } from "@/lib/net/outbound-policy";
import { adapterOf } from "@/lib/providers/adapters";
import { createHttpClient } from "@/lib/providers/http-client";

export interface BatchProviderSettings {
  readonly db: Db;
  /** 32 bytes. */
  readonly masterKey: Buffer;
  readonly outboundAllow: readonly string[];
}

const TIMEOUT_MS = 60_000;
/** The newest batches of an account that are looked through: the most a page may have. */
const RECENT = 100;

async function documentOf(
  { db }: BatchProviderSettings,
  { organisationId, providerId }: BatchFacts,
): Promise<ProviderDocument> {
  const provider = await findProvider(db.prisma, organisationId, providerId);
  if (!provider) throw new Error("the provider of a batch is gone");
  const { id, kind, name, baseUrl, isExternal, disabledAt } = provider;
  const secretBox = (await listProviderBoxes(db.prisma, organisationId)).get(id) ?? null;
  return { id, kind, name, baseUrl, isExternal, secretBox, disabled: disabledAt !== null };
}

function objectOf(value: unknown): BatchJson | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as BatchJson) : undefined;
}

async function jsonOf(answer: UpstreamResponse): Promise<BatchJson> {
  const found = objectOf(JSON.parse(new TextDecoder().decode(await answer.bytes())));
  if (!found) throw new Error("the provider's answer is no object");
  return found;
}

/** A provider that is disabled is still asked: what it runs has to be paid. */
export function createBatchProvider(settings: BatchProviderSettings): BatchProvider & { close(): Promise<void> } {
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
    facts: BatchFacts,
    route: string,
    query: string,
    isStream: boolean,
  ): Promise<UpstreamResponse | undefined> => {
    const provider = await documentOf(settings, facts);
    const path = adapterOf(provider).pathOf(provider, route, "");
    if (path === undefined) throw new Error("the provider serves no batches any more");
    const separator = path.includes("?") ? "&" : "?";
    const answer = await client.send({
      ...{ organisationId: facts.organisationId, provider, method: "GET", body: "" },
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
      const answer = await ask(facts, `batches/${id}`, "", false);
      return answer && jsonOf(answer);
    },
    recent: async (facts) => {
      const answer = await ask(facts, "batches", `limit=${String(RECENT)}`, false);
      const { data } = answer ? await jsonOf(answer) : { data: [] };
      const all: readonly unknown[] = Array.isArray(data) ? data : [];
      return all.map(objectOf).filter((one) => one !== undefined);
    },
    file: async (facts, fileId) => {
      const answer = await ask(facts, `files/${fileId}/content`, "", true);
      return answer && (webStreamOf(answer.body) as unknown as AsyncIterable<Uint8Array>);
    },
    close: () => client.close(),
  };
}
