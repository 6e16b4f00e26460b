/**
 * Public keys of issuers, fetched through the outbound guard and kept for a while. An unknown key id makes one fetch within
 * the cool-down, however many tokens name it, so that made-up key ids cannot be turned into a flood of the provider. Keys
 * outlive a provider that is away for a bounded time.
 */
import type { CompactJWSHeaderParameters, CryptoKey, FlattenedJWSInput, LocalJWKSet } from "jose";
import { createLocalJWKSet, errors } from "jose";
import { z } from "zod";
import type { Clock } from "@/lib/domain/clock";
import type { GuardedAnswer, GuardedRequest } from "@/lib/net/guarded-request";

/** guardedRequest with its policy and agent bound. */
export type Fetch = (call: GuardedRequest) => Promise<GuardedAnswer>;

export interface JwksSettings {
  readonly maxAgeMs: number;
  readonly coolDownMs: number;
  /** How long keys are used beyond their age while the provider cannot be asked. */
  readonly maxStaleMs: number;
  readonly timeoutMs: number;
}

const DEFAULT_SETTINGS: JwksSettings = {
  maxAgeMs: 10 * 60_000,
  coolDownMs: 30_000,
  maxStaleMs: 24 * 3_600_000,
  timeoutMs: 3_000,
};

const MAX_BYTES = 256 * 1024;
const MAX_KEYS = 100;
/** Issuers come from configuration; this only keeps a mistake from filling memory. */
const MAX_ISSUERS = 10_000;

/** Symmetric keys have no business in a public key set: whoever reads it could sign with them. */
const keySetSchema = z.object({
  keys: z
    .array(z.looseObject({ kty: z.string() }))
    .max(MAX_KEYS)
    .transform((keys) => keys.filter((key) => ["RSA", "EC", "OKP"].includes(key.kty) && !("d" in key))),
});

/** No keys could be had, neither fresh nor old. */
export class KeysUnavailable extends Error {
  constructor() {
    super("the issuer's keys cannot be read");
    this.name = "KeysUnavailable";
  }
}

interface Entry {
  keys: LocalJWKSet | undefined;
  fetchedMs: number;
  /** Rises with every set of keys that came. */
  version: number;
  /** Of the last fetch, whatever came of it. */
  triedMs: number;
  loading: Promise<void> | undefined;
}

export class JwksCache {
  private readonly entries = new Map<string, Entry>();
  private readonly settings: JwksSettings;

  constructor(
    private readonly deps: { readonly fetch: Fetch; readonly clock: Clock },
    settings: Partial<JwksSettings> = {},
  ) {
    this.settings = { ...DEFAULT_SETTINGS, ...settings };
  }

  /** The key a token names. Throws KeysUnavailable, or a jose error where the set has no such key. */
  async key(url: string, header: CompactJWSHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey> {
    const entry = this.entryOf(url);
    const ageMs = this.ageMs(entry);
    if (ageMs >= this.settings.maxAgeMs) {
      const refreshed = this.refresh(url, entry);
      // Keys just past their age still serve while new ones come: a slow provider is not waited for at every expiry.
      if (ageMs >= 2 * this.settings.maxAgeMs) await refreshed;
    }
    const keys = this.usable(entry);
    try {
      return await keys(header, token);
    } catch (error) {
      // A key the provider has begun to use since: look once more, unless that was just done.
      if (!(error instanceof errors.JWKSNoMatchingKey) || !this.mayTry(entry)) throw error;
      await this.refresh(url, entry);
      return this.usable(entry)(header, token);
    }
  }

  /** Which set of keys is in use: what an older one proved may not hold any more. */
  versionOf(url: string): number {
    return this.entries.get(url)?.version ?? 0;
  }

  private entryOf(url: string): Entry {
    const known = this.entries.get(url);
    if (known) return known;
    if (this.entries.size >= MAX_ISSUERS) this.entries.clear();
    const fresh: Entry = {
      keys: undefined,
      fetchedMs: 0,
      version: 0,
      triedMs: Number.NEGATIVE_INFINITY,
      loading: undefined,
    };
    this.entries.set(url, fresh);
    return fresh;
  }

  private ageMs(entry: Entry): number {
    return entry.keys ? this.deps.clock.nowMs() - entry.fetchedMs : Number.POSITIVE_INFINITY;
  }

  private mayTry(entry: Entry): boolean {
    return this.deps.clock.nowMs() - entry.triedMs >= this.settings.coolDownMs;
  }

  private usable(entry: Entry): LocalJWKSet {
    const { maxAgeMs, maxStaleMs } = this.settings;
    if (!entry.keys || this.ageMs(entry) > maxAgeMs + maxStaleMs) throw new KeysUnavailable();
    return entry.keys;
  }

  /** One fetch serves all who wait; a failed one is not repeated within the cool-down and leaves the old keys. */
  private async refresh(url: string, entry: Entry): Promise<void> {
    if (!entry.loading && !this.mayTry(entry)) return;
    entry.loading ??= this.load(url, entry).finally(() => {
      entry.loading = undefined;
    });
    await entry.loading;
  }

  private async load(url: string, entry: Entry): Promise<void> {
    entry.triedMs = this.deps.clock.nowMs();
    try {
      const answer = await this.deps.fetch({
        url,
        headers: { accept: "application/jwk-set+json, application/json" },
        timeoutMs: this.settings.timeoutMs,
        maxBytes: MAX_BYTES,
        maxRedirects: 2,
      });
      if (answer.status !== 200) return;
      entry.keys = createLocalJWKSet(keySetSchema.parse(JSON.parse(answer.text)));
      entry.fetchedMs = this.deps.clock.nowMs();
      entry.version += 1;
    } catch {
      // Refused, late, no JSON, no key set: `usable` says whether the old keys still do.
    }
  }
}
