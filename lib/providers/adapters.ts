/**
 * What differs between kinds of providers, as one table: where their routes stand, whose headers they know and how they take
 * their key. Everything that speaks OpenAI's API and is not listed is `openai-compatible`.
 *
 * Sources: the vendors' API references (platform.openai.com, learn.microsoft.com Azure OpenAI, platform.claude.com,
 * ai.google.dev, api-docs.deepseek.com, help.aliyun.com Model Studio, docs.bigmodel.cn, platform.moonshot.cn,
 * cloud.baidu.com Qianfan v2, volcengine.com Ark, docs.vllm.ai, github.com/ollama/ollama docs/openai.md).
 */
import type { ProviderDocument } from "@/lib/domain/snapshot";
import type { ProviderAdapter } from "@/lib/gateway/ports";
import type { HeaderDialect } from "@/lib/net/header-rules";
import { headersForUpstream } from "@/lib/net/header-rules";

interface Account {
  readonly origin: string;
  /** Path of the base URL, without a slash at its end. */
  readonly prefix: string;
  readonly query: URLSearchParams;
}

/** Base URLs split once per provider document. */
const accounts = new WeakMap<ProviderDocument, Account>();

export function accountOf(provider: ProviderDocument): Account {
  const known = accounts.get(provider);
  if (known) return known;
  const url = new URL(provider.baseUrl);
  const account = { origin: url.origin, prefix: url.pathname.replace(/\/+$/u, ""), query: url.searchParams };
  accounts.set(provider, account);
  return account;
}

/** OpenAI's routes: the path is their name. */
const ALL_OPENAI: readonly string[] = [
  "chat/completions",
  "responses",
  "completions",
  "embeddings",
  "moderations",
  "rerank",
  "images/generations",
  "images/edits",
  "images/variations",
  "audio/speech",
  "audio/transcriptions",
  "audio/translations",
];
/** What outlives a call; ids and what is done with them stand behind. */
const STORED = ["files", "batches"] as const;
const ANTHROPIC_ROUTES: readonly string[] = ["messages", "messages/count_tokens"];
const GEMINI_ACTION = /^models\/(generateContent|streamGenerateContent|countTokens)$/u;
/** A path with a price of its own: the upstream's name is the path. */
const PASSTHROUGH = "passthrough";
const AZURE_VERSION = "2024-10-21";

interface Kind {
  readonly vendor: string;
  /** Routes in OpenAI's shape under the base path. */
  readonly openai: readonly string[];
  readonly anthropic?: boolean;
  /** Whether it keeps files and runs batches in OpenAI's shape. */
  readonly stores?: boolean;
  readonly gemini?: boolean;
}

const COMPATIBLE: Kind = { vendor: "openai-compatible", openai: ALL_OPENAI, stores: true };

const KINDS: Readonly<Record<string, Kind>> = {
  openai: { vendor: "openai", openai: ALL_OPENAI.filter((route) => route !== "rerank"), stores: true },
  azure: {
    vendor: "azure",
    openai: ALL_OPENAI.filter((route) => !["rerank", "moderations", "images/variations"].includes(route)),
    stores: true,
  },
  anthropic: { vendor: "anthropic", openai: [], anthropic: true },
  gemini: { vendor: "gemini", openai: ["chat/completions", "embeddings"], gemini: true },
  deepseek: { vendor: "deepseek", openai: ["chat/completions"] },
  dashscope: { vendor: "dashscope", openai: ["chat/completions", "embeddings"], stores: true },
  zhipu: { vendor: "zhipu", openai: ["chat/completions", "embeddings", "images/generations", "rerank"], stores: true },
  moonshot: { vendor: "moonshot", openai: ["chat/completions"] },
  qianfan: { vendor: "qianfan", openai: ["chat/completions", "embeddings", "images/generations", "rerank"] },
  ark: { vendor: "ark", openai: ["chat/completions", "responses", "embeddings", "images/generations"] },
  vllm: {
    vendor: "vllm",
    openai: [
      "chat/completions",
      "responses",
      "completions",
      "embeddings",
      "rerank",
      "audio/transcriptions",
      "audio/translations",
    ],
  },
  ollama: { vendor: "ollama", openai: ["chat/completions", "completions", "embeddings"] },
  "openai-compatible": COMPATIBLE,
  sandbox: { vendor: "sandbox", openai: ALL_OPENAI, anthropic: true, gemini: true, stores: true },
};

/** `/v1` where the base URL does not say it: OpenAI's SDKs want it in the base, the others do not. */
function versioned(prefix: string, version: string): string {
  return prefix.endsWith(`/${version}`) ? prefix : `${prefix}/${version}`;
}

/** The route, or what is done with one that was made. */
function isOfResponses(route: string): boolean {
  return route === "responses" || route.startsWith("responses/");
}

/** The older paths of Azure name the deployment and want a version; `/openai/v1` is as OpenAI's own. */
function azurePath({ prefix, query }: Account, route: string, model: string): string {
  if (prefix.endsWith("/openai/v1")) return `${prefix}/${route}`;
  // The newer routes exist under /openai/v1 only.
  if (isOfResponses(route)) return `${prefix.replace(/\/openai$/u, "")}/openai/v1/${route}`;
  const base = prefix.endsWith("/openai") ? prefix : `${prefix}/openai`;
  const version = query.get("api-version") ?? AZURE_VERSION;
  return `${base}/deployments/${encodeURIComponent(model)}/${route}?api-version=${encodeURIComponent(version)}`;
}

/** Files and batches belong to the account, at Azure too. */
function storedPath({ vendor }: Kind, { prefix, query }: Account, route: string): string {
  if (vendor !== "azure" || prefix.endsWith("/openai/v1")) return `${prefix}/${route}`;
  const base = prefix.endsWith("/openai") ? prefix : `${prefix}/openai`;
  return `${base}/${route}?api-version=${encodeURIComponent(query.get("api-version") ?? AZURE_VERSION)}`;
}

function geminiPath(prefix: string, action: string, model: string): string {
  // The sandbox's base ends with /v1, under which Google has another, older API.
  const base = versioned(prefix.replace(/\/v1$/u, ""), "v1beta");
  return `${base}/models/${encodeURIComponent(model)}:${action}`;
}

function pathAt(kind: Kind, provider: ProviderDocument, route: string, model: string): string | undefined {
  const account = accountOf(provider);
  const { prefix } = account;
  const action = GEMINI_ACTION.exec(route)?.[1];
  if (action !== undefined) return kind.gemini ? geminiPath(prefix, action, model) : undefined;
  if (ANTHROPIC_ROUTES.includes(route)) return kind.anthropic ? `${versioned(prefix, "v1")}/${route}` : undefined;
  if (route === PASSTHROUGH) return `${prefix}/${model}`;
  if (STORED.some((first) => route === first || route.startsWith(`${first}/`))) {
    return kind.stores ? storedPath(kind, account, route) : undefined;
  }
  if (!kind.openai.includes(isOfResponses(route) ? "responses" : route)) return undefined;
  if (kind.vendor === "azure") return azurePath(account, route, model);
  if (kind.vendor === "gemini") return `${versioned(prefix, "v1beta")}/openai/${route}`;
  return `${prefix}/${route}`;
}

/** Headers of a caller that may go on, by the shape of the route. */
const HEADER_NAMES: Readonly<Record<HeaderDialect, readonly string[]>> = {
  openai: ["openai-beta"],
  anthropic: ["anthropic-version", "anthropic-beta"],
  gemini: [],
};
const DEFAULT_ANTHROPIC_VERSION = "2023-06-01";
const NO_HEADERS: readonly string[] = [];

function dialectOf(route: string): HeaderDialect {
  if (ANTHROPIC_ROUTES.includes(route)) return "anthropic";
  return GEMINI_ACTION.test(route) ? "gemini" : "openai";
}

/** Only named headers cross; most calls have none of them. */
function passedHeaders(route: string, get: (name: string) => string | null): readonly string[] {
  const dialect = dialectOf(route);
  const given: [string, string][] = [];
  for (const name of HEADER_NAMES[dialect]) {
    const value = get(name);
    if (value !== null) given.push([name, value]);
  }
  if (given.length === 0)
    return dialect === "anthropic" ? ["anthropic-version", DEFAULT_ANTHROPIC_VERSION] : NO_HEADERS;
  const connection = get("connection");
  if (connection !== null) given.push(["connection", connection]);
  const passed = headersForUpstream(given, dialect);
  if (dialect === "anthropic") passed["anthropic-version"] ??= DEFAULT_ANTHROPIC_VERSION;
  return Object.entries(passed).flat();
}

const adapters = new Map<string, ProviderAdapter>(
  Object.entries(KINDS).map(([name, kind]) => [
    name,
    {
      vendor: kind.vendor,
      pathOf: (provider, route, model) => pathAt(kind, provider, route, model),
      passedHeaders,
    },
  ]),
);
const compatible: ProviderAdapter = {
  vendor: COMPATIBLE.vendor,
  pathOf: (provider, route, model) => pathAt(COMPATIBLE, provider, route, model),
  passedHeaders,
};

/** The adapter of a kind of provider; kinds that are not known speak OpenAI's API. */
export function adapterOf(provider: ProviderDocument): ProviderAdapter {
  return adapters.get(provider.kind) ?? compatible;
}

export interface KeyHeader {
  readonly name: string;
  /** Before the secret. */
  readonly scheme: string;
}

const BEARER: KeyHeader = { name: "authorization", scheme: "Bearer " };
const KEY_HEADERS: Readonly<Record<string, KeyHeader>> = {
  azure: { name: "api-key", scheme: "" },
  anthropic: { name: "x-api-key", scheme: "" },
  gemini: { name: "x-goog-api-key", scheme: "" },
};

/** How a provider takes its key. Google's OpenAI-shaped paths want a bearer. */
export function keyHeaderOf(providerKind: string, path: string): KeyHeader {
  if (providerKind === "gemini" && path.includes("/openai/")) return BEARER;
  return KEY_HEADERS[providerKind] ?? BEARER;
}
