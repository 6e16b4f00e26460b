/** Models of every kind, as the sandbox sells them, for the routes beyond chat and embeddings; and calls whose books are compared. */
import { expect } from "vitest";
import { publishAll } from "@/lib/control/snapshots";
import { upsertProvider } from "@/lib/control/providers";
import { insertDeployment, insertModel } from "@/lib/db/models";
import { insertPrice } from "@/lib/db/prices";
import { newId } from "@/lib/domain/ids";
import type { PriceRates } from "@/lib/domain/snapshot";
import { shiftDecimal } from "@/lib/pricing/decimal";
import type { TestOrganisation } from "../factories";
import { testPrincipal } from "../factories";
import type { GatewayHost } from "./host";

export interface RouteModel {
  readonly name: string;
  readonly kind: string;
  /** Null: the model has no price. */
  readonly rates: PriceRates | null;
  readonly isExternal?: boolean;
  /** As the provider knows it; the name unless given. */
  readonly upstreamModel?: string;
}

/** USD per million tokens to rates per token. */
function perMillion(rates: Readonly<Record<string, string>>): PriceRates {
  return Object.fromEntries(Object.entries(rates).map(([name, text]) => [name, shiftDecimal(text, -6)]));
}

const text = (inputPerToken: string, cacheReadPerToken: string, outputPerToken: string) =>
  perMillion({ inputPerToken, cacheReadPerToken, outputPerToken });
const SEARCH = { low: "0.01", medium: "0.01", high: "0.01" };

export const CLAUDE: RouteModel = {
  name: "sandbox-claude-small",
  kind: "chat",
  rates: {
    ...text("1", "0.10", "5"),
    ...perMillion({ cacheWritePerToken: "1.25", cacheWrite1hPerToken: "2" }),
    webSearch: SEARCH,
  },
};
export const GEMINI: RouteModel = {
  name: "sandbox-gemini-flash",
  kind: "chat",
  rates: { ...text("0.30", "0.03", "2.50"), ...perMillion({ audioInputPerToken: "1" }) },
};

export const ROUTE_MODELS: readonly RouteModel[] = [
  CLAUDE,
  GEMINI,
  {
    name: "sandbox-omni",
    kind: "chat",
    rates: {
      ...text("2.50", "0.25", "10"),
      ...perMillion({
        cacheWritePerToken: "3.125",
        audioInputPerToken: "40",
        audioOutputPerToken: "80",
        imageInputPerToken: "5",
      }),
      webSearch: SEARCH,
    },
  },
  { name: "sandbox-instruct", kind: "completion", rates: text("1.50", "1.50", "2") },
  {
    name: "sandbox-image",
    kind: "image",
    rates: { ...text("5", "1.25", "40"), ...perMillion({ imageInputPerToken: "10", imageOutputPerToken: "40" }) },
  },
  {
    name: "sandbox-dalle",
    kind: "image",
    rates: {
      images: [
        { size: "1024x1024", quality: "standard", perImage: "0.04" },
        { size: "1024x1792", quality: "hd", perImage: "0.12" },
      ],
    },
  },
  { name: "sandbox-whisper", kind: "transcription", rates: { inputPerSecond: "0.0001" } },
  {
    name: "sandbox-transcribe",
    kind: "transcription",
    rates: perMillion({ inputPerToken: "2.50", outputPerToken: "10", audioInputPerToken: "6" }),
  },
  { name: "sandbox-tts", kind: "speech", rates: { perCharacter: "0.000015" } },
  {
    name: "sandbox-speech",
    kind: "speech",
    rates: perMillion({ inputPerToken: "0.60", outputPerToken: "12", audioOutputPerToken: "12" }),
  },
  { name: "sandbox-moderation", kind: "moderation", rates: { inputPerToken: "0" } },
  { name: "sandbox-rerank", kind: "rerank", rates: { perQuery: "0.002" } },
  { name: "sandbox-rerank-tokens", kind: "rerank", rates: perMillion({ inputPerToken: "0.02" }) },
  // A path that nobody governs, with a price of its own.
  { name: "responses/input_tokens", kind: "passthrough", rates: { perRequest: "0.001" } },
];

export interface Place {
  readonly providerId: string;
  readonly upstreamModel?: string;
  readonly priority?: number;
  readonly weight?: number;
  readonly region?: string;
  readonly timeouts?: Partial<
    Record<"timeoutMs" | "connectTimeoutMs" | "firstByteTimeoutMs" | "idleTimeoutMs", number>
  >;
}

/** Adds a model at the places named, in order of their priority; not yet published. */
export async function addModel(
  host: GatewayHost,
  made: TestOrganisation,
  model: RouteModel,
  places: readonly Place[] = [{ providerId: made.provider.id }],
): Promise<void> {
  const { prisma } = host.bench.control.db;
  const nowMs = Date.now();
  const { organisationId } = made;
  const id = newId("mod", nowMs);
  const { name, kind, rates } = model;
  const maxOutputTokens = kind === "chat" || kind === "completion" ? 16_384 : null;
  await insertModel(prisma, {
    id,
    organisationId,
    name,
    kind,
    maxOutputTokens,
    contextTokens: null,
    isExternal: model.isExternal ?? false,
  });
  for (const [index, place] of places.entries()) {
    await insertDeployment(prisma, {
      ...{ id: newId("dep", nowMs), organisationId, modelId: id, providerId: place.providerId },
      upstreamModel: place.upstreamModel ?? model.upstreamModel ?? name,
      ...{ weight: place.weight ?? 1, priority: place.priority ?? index, region: place.region ?? null },
      ...{
        timeoutMs: 30_000,
        connectTimeoutMs: null,
        firstByteTimeoutMs: null,
        idleTimeoutMs: null,
        ...place.timeouts,
      },
    });
  }
  if (rates === null) return;
  await insertPrice(prisma, {
    ...{ id: newId("prc", nowMs), organisationId, modelId: id, currency: "USD", rates, source: "test" },
    ...{ importId: null, effectiveFrom: new Date(0), effectiveTo: null, createdById: null },
  });
}

export async function addProvider(
  host: GatewayHost,
  made: TestOrganisation,
  kind: Parameters<typeof upsertProvider>[2]["kind"],
  baseUrl: string,
): Promise<string> {
  const { provider } = await upsertProvider({ ...host.bench.control, publishes: false }, testPrincipal, {
    ...{ organisationId: made.organisationId, name: `${kind} at ${baseUrl}`, kind, baseUrl },
    ...{ secret: "sandbox-secret-for-tests", isExternal: false, billingMode: "request" },
  });
  return provider.id;
}

export async function publish(host: GatewayHost, made: TestOrganisation): Promise<void> {
  await publishAll(host.bench.control, made.organisationId, { force: true });
}

interface BillLine {
  readonly requestTag: string | null;
  readonly amountNanos: string;
  readonly model: string;
}

/** What the provider billed for the request, by our tag, all attempts together. */
export async function billed(host: GatewayHost, requestId: string): Promise<bigint> {
  let since = 0;
  let sum = 0n;
  for (;;) {
    const answer = await fetch(`${host.bench.sandbox.url}/bill?since=${String(since)}&limit=10000`);
    const page = (await answer.json()) as { lines: BillLine[]; nextSequence: number; hasMore: boolean };
    for (const line of page.lines) {
      if (line.requestTag?.startsWith(`${requestId}:`)) sum += BigInt(line.amountNanos);
    }
    if (!page.hasMore) return sum;
    since = page.nextSequence;
  }
}

/** The ledger has the request, and the same amount as the provider's bill. Answers the amount. */
export async function expectBooksAgree(
  host: GatewayHost,
  made: TestOrganisation,
  requestId: string,
  options: { readonly isEstimated?: boolean } = {},
): Promise<bigint> {
  const lines = async () => {
    await host.bench.book(made.organisationId);
    return (await host.bench.ledger(made.organisationId)).filter((line) => line.requestId === requestId);
  };
  await expect.poll(async () => (await lines()).length).toBeGreaterThan(0);
  const booked = await lines();
  expect(booked.map((line) => line.isEstimated)).toEqual(booked.map(() => options.isEstimated ?? false));
  const amount = booked.reduce((sum, line) => sum + line.amount, 0n);
  expect(amount).toBe(await billed(host, requestId));
  return amount;
}
