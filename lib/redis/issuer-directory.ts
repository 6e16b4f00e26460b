/**
 * The issuer index as a gateway reads it: whole, since it is small, and again where its version has changed. A token that
 * nobody is known for makes at most one look in half a second, however many come.
 */
import type { Clock } from "@/lib/domain/clock";
import { systemClock } from "@/lib/domain/clock";
import { StoreUnavailable } from "@/lib/gateway/ports";
import type { HotConnection } from "./client";
import { INDEX_VERSION, issuerEntries } from "./issuer-index";
import { ISSUER_INDEX } from "./keys";
import { isPublished } from "./publication";

const REVALIDATE_MS = 500;
/** Of an installation; what is beyond is not known. */
const MAX_ISSUERS = 10_000;

interface Known {
  readonly version: string | null;
  /** Organisations by issuer. More than one only while an issuer moves. */
  readonly byIssuer: ReadonlyMap<string, readonly string[]>;
  /** Token prefix and organisation, longest prefix first. */
  readonly prefixes: readonly (readonly [prefix: string, organisationId: string])[];
}

function known(fields: Readonly<Record<string, string>>): Known {
  const byIssuer = new Map<string, string[]>();
  const prefixes: [string, string][] = [];
  for (const { organisationId, issuer, tokenPrefix } of [...issuerEntries(fields).values()].slice(0, MAX_ISSUERS)) {
    const organisations = byIssuer.get(issuer) ?? [];
    byIssuer.set(issuer, organisations.includes(organisationId) ? organisations : [...organisations, organisationId]);
    if (tokenPrefix !== null) prefixes.push([tokenPrefix, organisationId]);
  }
  prefixes.sort(([one], [other]) => other.length - one.length);
  return { version: fields[INDEX_VERSION] ?? null, byIssuer, prefixes };
}

export class IssuerDirectory {
  private current: Known | undefined;
  private seenMs = Number.NEGATIVE_INFINITY;
  private looking: Promise<void> | undefined;
  /** Whether an issuer that is not known does not exist. */
  private isWhole = false;

  constructor(
    private readonly connection: HotConnection,
    private readonly clock: Clock = systemClock,
  ) {}

  /** Who may answer for tokens of this issuer. Throws StoreUnavailable where nobody is known and the store cannot say that nobody does. */
  ofIssuer(issuer: string): Promise<readonly string[]> {
    return this.find(({ byIssuer }) => byIssuer.get(issuer) ?? []);
  }

  /** Who may answer for an opaque token, by its prefix. Throws like `ofIssuer`. */
  ofOpaqueToken(token: string): Promise<readonly string[]> {
    return this.find(({ prefixes }) => {
      const length = prefixes.find(([prefix]) => token.startsWith(prefix))?.[0].length;
      return prefixes.flatMap(([prefix, id]) => (prefix.length === length && token.startsWith(prefix) ? [id] : []));
    });
  }

  private async find(choose: (index: Known) => readonly string[]): Promise<readonly string[]> {
    const isFresh = this.clock.nowMs() - this.seenMs < REVALIDATE_MS;
    const before = this.current ? choose(this.current) : [];
    if (before.length > 0) {
      // A stale find is good: what it may be trusted for is read elsewhere.
      if (!isFresh) void this.look();
      return before;
    }
    if (!isFresh) await this.look();
    const found = this.current ? choose(this.current) : [];
    if (found.length === 0 && !this.isWhole) throw new StoreUnavailable("the issuers cannot be read");
    return found;
  }

  private async look(): Promise<void> {
    this.looking ??= this.read().finally(() => {
      this.looking = undefined;
    });
    await this.looking;
  }

  /** Never rejects. What is known stands while the store is away or has not got everything back that it lost. */
  private async read(): Promise<void> {
    const { redis } = this.connection;
    try {
      this.isWhole = await isPublished(this.connection);
      const version = this.isWhole ? await redis.hget(ISSUER_INDEX, INDEX_VERSION) : null;
      if (this.isWhole && this.current?.version !== version) {
        const index = known(version === null ? {} : await redis.hgetall(ISSUER_INDEX));
        // It may have been lost while we read.
        this.isWhole = await isPublished(this.connection);
        if (this.isWhole) this.current = index;
      }
      this.seenMs = this.clock.nowMs();
    } catch {
      this.isWhole = false;
    }
  }
}
