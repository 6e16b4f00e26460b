// The only reader of process.env in lib, app and workers. Each process parses its own schema once at its start, so that a
// missing or malformed setting stops it there, with every mistake named at once, instead of failing some request later.
import { z } from "zod";

const url = (protocols: string[], example: string) =>
  z
    .string()
    .refine((value) => protocols.some((protocol) => value.startsWith(`${protocol}://`)) && URL.canParse(value), {
      error: `must look like ${example}`,
    });

const port = z.coerce.number().int().min(1).max(65_535);
const flag = z.enum(["true", "false", "1", "0"]).transform((value) => value === "true" || value === "1");

/** 32 bytes in base64; anything shorter would silently weaken what it protects. */
const secret32 = z.string().refine((value) => isBase64Of(value, 32), {
  error: "must be 32 random bytes in base64 (openssl rand -base64 32)",
});

/** Entries between commas or spaces. */
const list = z.string().transform((text) => text.split(/[\s,]+/u).filter((entry) => entry !== ""));

const addressOrRange = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);
const addresses = list.refine((entries) => entries.every((entry) => addressOrRange.safeParse(entry).success), {
  error: "must be addresses and ranges such as 10.0.0.5,10.1.0.0/16,2001:db8::/32",
});

const redis = url(["redis", "rediss"], "redis://user:password@host:6379/0");

/** What every process needs: where the counters are, and how to talk about itself. */
const shared = {
  NODE_ENV: z.enum(["development", "test", "production"]).default("production"),
  LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
  REDIS_URL: redis,
  /** BullMQ may live on its own Redis, so that a burst of jobs never slows a reservation. */
  REDIS_QUEUE_URL: redis.optional(),
  /** Encrypts provider secrets at rest with AES-256-GCM. */
  SPILLWAY_MASTER_KEY: secret32,
  /** Key of the HMAC under which API keys are stored: a stolen table is useless without it. */
  SPILLWAY_KEY_PEPPER: secret32,
  /** Where a process may keep what must survive it, such as the usage journal written while Redis is away. */
  SPILLWAY_DATA_DIR: z.string().min(1).default(".spillway"),
  /**
   * Places beyond public addresses over https that configured URLs may lead to: `vllm.internal:8000`, `10.2.0.0/16`. What is
   * named in this environment (SANDBOX_URL, OPENAI_BASE_URL, ...) is allowed anyway.
   */
  SPILLWAY_OUTBOUND_ALLOW: list.default([]),
  /** Address under which people and SDKs reach this installation; used in links such as the top-up page. */
  SPILLWAY_PUBLIC_URL: url(["http", "https"], "https://spillway.example.com").optional(),
};

const listening = {
  SPILLWAY_HOST: z.string().min(1).default("127.0.0.1"),
  SPILLWAY_PORT: port.default(3000),
  /**
   * Proxies and balancers in front whose X-Forwarded-For is believed, as addresses and ranges: `10.0.0.5,10.1.0.0/16`. Without any
   * the caller is who holds the connection. List the proxies, not the network that callers are in: a trusted address may name
   * anybody. Plain Next does not see who holds the connection: there no key with an address list is let in without this, and with it
   * nobody but these proxies may be able to reach it.
   */
  SPILLWAY_TRUSTED_PROXIES: addresses.default([]),
};

const database = { DATABASE_URL: url(["postgres", "postgresql"], "postgresql://user:password@host:5432/spillway") };

/** The stand-in provider. Absent in production. */
const sandbox = {
  SANDBOX_URL: url(["http", "https"], "http://127.0.0.1:4010").optional(),
  SANDBOX_PORT: port.optional(),
};

/** Accounts taken from the environment at first start; others are added in the console and stored encrypted. */
const providerAccounts = {
  OPENAI_API_KEY: z.string().min(1).optional(),
  OPENAI_BASE_URL: url(["http", "https"], "https://api.openai.com/v1").optional(),
  ANTHROPIC_API_KEY: z.string().min(1).optional(),
  ANTHROPIC_BASE_URL: url(["http", "https"], "https://api.anthropic.com").optional(),
  GEMINI_API_KEY: z.string().min(1).optional(),
  DEEPSEEK_API_KEY: z.string().min(1).optional(),
  DASHSCOPE_API_KEY: z.string().min(1).optional(),
  MOONSHOT_API_KEY: z.string().min(1).optional(),
  ZHIPU_API_KEY: z.string().min(1).optional(),
  ARK_API_KEY: z.string().min(1).optional(),
};

const outboundSchema = z.object({
  SPILLWAY_OUTBOUND_ALLOW: shared.SPILLWAY_OUTBOUND_ALLOW,
  SANDBOX_URL: sandbox.SANDBOX_URL,
  OPENAI_BASE_URL: providerAccounts.OPENAI_BASE_URL,
  ANTHROPIC_BASE_URL: providerAccounts.ANTHROPIC_BASE_URL,
});
type OutboundEnv = z.output<typeof outboundSchema>;

const gatewaySchema = z.object({
  ...shared,
  ...listening,
  ...sandbox,
  ...providerAccounts,
  /** Processes of the gateway server, sharing its port. */
  GATEWAY_PROCESSES: z.coerce.number().int().min(1).max(64).default(1),
  /**
   * How long a reservation outlives the last sign of life of its process, in ms. Renewed each second; a lease is at least
   * five renewals long. Shorter returns the money of a killed process sooner, longer bears longer pauses.
   */
  SPILLWAY_LEASE_MS: z.coerce.number().int().min(5_000).max(600_000).default(15_000),
  /**
   * The longest a process's journal may become, in bytes: calls of budgets that are not enforced, noted while Redis is away. One
   * takes about 3 KB; past this they are refused as all others are.
   */
  SPILLWAY_JOURNAL_MAX_BYTES: z.coerce.number().int().min(65_536).max(1_073_741_824).default(67_108_864),
  /**
   * Usage events of one organisation that may wait in Redis for the ledger while no worker books them. Past this it is served as
   * if Redis were away: an event takes about 2 KB of Redis' memory.
   */
  SPILLWAY_USAGE_MAX_WAITING: z.coerce.number().int().min(1_000).default(1_000_000),
});

const webSchema = z.object({
  ...gatewaySchema.shape,
  ...database,
  /** Signs console sessions. */
  NEXTAUTH_SECRET: z.string().min(32, { error: "must have at least 32 characters" }),
  NEXTAUTH_URL: url(["http", "https"], "http://127.0.0.1:3000"),
  /** Shows the sign-in of the sample company on the sign-in page; never set where real people work. */
  SPILLWAY_SAMPLE_COMPANY: flag.default(false),
});

const workerSchema = z.object({
  ...shared,
  ...database,
  ...sandbox,
  ...providerAccounts,
  /** Health and metrics of the worker process. */
  WORKER_HOST: z.string().min(1).default("127.0.0.1"),
  WORKER_PORT: port.default(3001),
});

export type GatewayEnv = z.output<typeof gatewaySchema>;
export type WebEnv = z.output<typeof webSchema>;
export type WorkerEnv = z.output<typeof workerSchema>;

/** The operator's list of places, with those that this very environment names. */
export function outboundAllowList(env: OutboundEnv): string[] {
  const named = [env.SANDBOX_URL, env.OPENAI_BASE_URL, env.ANTHROPIC_BASE_URL].flatMap((text) => {
    if (text === undefined) return [];
    const { hostname, port, protocol } = new URL(text);
    return [`${hostname}:${port === "" ? (protocol === "http:" ? "80" : "443") : port}`];
  });
  return [...env.SPILLWAY_OUTBOUND_ALLOW, ...named];
}

type Source = Readonly<Record<string, string | undefined>>;

/** Thrown at start only. Its message lists names and reasons and never a value: most of these values are secrets. */
export class EnvError extends Error {
  constructor(process: string, problems: readonly string[]) {
    super(`The environment of the ${process} process is not usable: ${problems.join("; ")}.`);
    this.name = "EnvError";
  }
}

export function parseGatewayEnv(source: Source): GatewayEnv {
  return parse("gateway", gatewaySchema, source);
}

export function parseWebEnv(source: Source): WebEnv {
  return parse("web", webSchema, source);
}

export function parseWorkerEnv(source: Source): WorkerEnv {
  return parse("worker", workerSchema, source);
}

/** For programs that are no process of the product, such as the seed. */
export function parseOutboundEnv(source: Source): OutboundEnv {
  return parse("outbound", outboundSchema, source);
}

export const gatewayEnv = once(() => parseGatewayEnv(process.env));
export const webEnv = once(() => parseWebEnv(process.env));
export const workerEnv = once(() => parseWorkerEnv(process.env));

function parse<Schema extends z.ZodObject>(name: string, schema: Schema, source: Source): z.output<Schema> {
  // An empty variable is how shells and compose files say "not set".
  const set = Object.fromEntries(Object.entries(source).filter(([, value]) => value !== undefined && value !== ""));
  const result = schema.safeParse(set);
  if (result.success) return result.data;
  throw new EnvError(
    name,
    result.error.issues.map((issue) => {
      const variable = issue.path.join(".");
      return set[variable] === undefined ? `${variable} is missing` : `${variable} ${issue.message}`;
    }),
  );
}

function isBase64Of(value: string, bytes: number): boolean {
  return /^[A-Za-z0-9+/_-]+={0,2}$/.test(value) && Buffer.from(value, "base64").length === bytes;
}

function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}
