/**
 * OAuth 2.0 token introspection (RFC 7662): the provider is asked whether a token is active. Answers are kept for a short
 * time under the hash of the whole token, and never beyond the token's expiry; refusals shorter, so that a token that was
 * just issued is not refused for long; failures not at all. What is under way at once is bounded, so that made-up tokens
 * cannot be turned into a flood of the provider.
 */
import { z } from "zod";
import type { Clock } from "@/lib/domain/clock";
import { BoundedCache } from "./bounded-cache";
import type { IntrospectionIssuer } from "./issuer";
import type { Fetch } from "./jwks";
import { hashToken, MAX_TOKEN_LENGTH } from "./jwt";
import type { TokenVerdict } from "./verified-token";
import { refusedToken, tokenFromClaims } from "./verified-token";

export interface IntrospectionSettings {
  /** A revoked token may still be served this long. */
  readonly activeTtlMs: number;
  readonly refusedTtlMs: number;
  readonly timeoutMs: number;
  readonly maxCached: number;
  /** Questions to one issuer at once; what comes on top is answered `unavailable`. */
  readonly maxAtOnce: number;
}

const DEFAULT_SETTINGS: IntrospectionSettings = {
  activeTtlMs: 30_000,
  refusedTtlMs: 5_000,
  timeoutMs: 2_000,
  maxCached: 20_000,
  maxAtOnce: 64,
};

const MAX_BYTES = 64 * 1024;
/** RFC 6750 section 2.1: what may stand behind `Bearer`. */
const BEARER_TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/u;

const answerSchema = z.looseObject({
  active: z.boolean(),
  iss: z.string().optional(),
  aud: z.union([z.string(), z.array(z.string())]).optional(),
  /** Seconds since 1970, as in a JWT. */
  exp: z.number().optional(),
  nbf: z.number().optional(),
});

/** What the provider said, or that it could not be asked. The verdict is worked out anew for every call: a changed mapping bites at once. */
type Answer = z.infer<typeof answerSchema>;

export interface IntrospectionDeps {
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** Opens the sealed client secret of an issuer. */
  readonly clientSecret: (issuerId: string) => string;
}

/** Client credentials are form-encoded before they become Basic (RFC 6749 section 2.3.1). */
function basicCredentials(clientId: string, secret: string): string {
  const encoded = (text: string) => new URLSearchParams([["", text]]).toString().slice(1);
  return `Basic ${Buffer.from(`${encoded(clientId)}:${encoded(secret)}`, "utf8").toString("base64")}`;
}

export class Introspector {
  private readonly cache: BoundedCache<Answer>;
  private readonly underWay = new Map<string, Promise<Answer | "unavailable">>();
  private readonly atOnce = new Map<string, number>();
  private readonly settings: IntrospectionSettings;

  constructor(
    private readonly deps: IntrospectionDeps,
    settings: Partial<IntrospectionSettings> = {},
  ) {
    this.settings = { ...DEFAULT_SETTINGS, ...settings };
    this.cache = new BoundedCache(this.settings.maxCached);
  }

  /** Asks the issuer about a token, or remembers. Never rejects. */
  async verify(token: string, issuer: IntrospectionIssuer): Promise<TokenVerdict> {
    if (token.length > MAX_TOKEN_LENGTH || !BEARER_TOKEN.test(token)) return refusedToken("malformed");
    const tokenHash = hashToken(token);
    const key = JSON.stringify([issuer.id, issuer.introspectionUrl, tokenHash]);
    const answer = this.cache.get(key, this.deps.clock.nowMs()) ?? (await this.askOnce(key, token, issuer));
    return answer === "unavailable" ? refusedToken("unavailable") : this.judge(answer, tokenHash, issuer);
  }

  /** One question serves all who wait for the same token. */
  private askOnce(key: string, token: string, issuer: IntrospectionIssuer): Promise<Answer | "unavailable"> {
    const asked = this.underWay.get(key);
    if (asked) return asked;
    const count = this.atOnce.get(issuer.id) ?? 0;
    if (count >= this.settings.maxAtOnce) return Promise.resolve("unavailable");
    this.atOnce.set(issuer.id, count + 1);
    const asking = this.ask(token, issuer).then((answer) => {
      this.underWay.delete(key);
      this.leave(issuer.id);
      if (answer !== "unavailable") this.remember(key, answer);
      return answer;
    });
    this.underWay.set(key, asking);
    return asking;
  }

  private leave(issuerId: string): void {
    const count = (this.atOnce.get(issuerId) ?? 1) - 1;
    if (count === 0) this.atOnce.delete(issuerId);
    else this.atOnce.set(issuerId, count);
  }

  private remember(key: string, answer: Answer): void {
    const nowMs = this.deps.clock.nowMs();
    const ttlMs = answer.active ? this.settings.activeTtlMs : this.settings.refusedTtlMs;
    const expiresMs = answer.active && answer.exp !== undefined ? answer.exp * 1000 : Number.POSITIVE_INFINITY;
    this.cache.set(key, answer, Math.min(expiresMs, nowMs + ttlMs));
  }

  /** Never rejects. */
  private async ask(token: string, issuer: IntrospectionIssuer): Promise<Answer | "unavailable"> {
    try {
      const answer = await this.deps.fetch({
        url: issuer.introspectionUrl,
        method: "POST",
        headers: {
          accept: "application/json",
          "content-type": "application/x-www-form-urlencoded",
          authorization: basicCredentials(issuer.clientId, this.deps.clientSecret(issuer.id)),
        },
        body: new URLSearchParams({ token, token_type_hint: "access_token" }).toString(),
        timeoutMs: this.settings.timeoutMs,
        maxBytes: MAX_BYTES,
      });
      // 401 and 403 are about our own credentials, not about the token.
      return answer.status === 200 ? answerSchema.parse(JSON.parse(answer.text)) : "unavailable";
    } catch {
      return "unavailable";
    }
  }

  private judge(answer: Answer, tokenHash: string, issuer: IntrospectionIssuer): TokenVerdict {
    if (!answer.active) return refusedToken("inactive");
    const nowMs = this.deps.clock.nowMs();
    const toleranceMs = issuer.clockToleranceSeconds * 1000;
    if (answer.iss !== undefined && answer.iss !== issuer.issuer) return refusedToken("wrong_issuer");
    const audience = typeof answer.aud === "string" ? [answer.aud] : (answer.aud ?? []);
    if (!audience.some((name) => issuer.audiences.includes(name))) return refusedToken("wrong_audience");
    // Without an expiry the provider vouches for the moment only.
    const expiresAtMs = answer.exp === undefined ? nowMs + this.settings.activeTtlMs : answer.exp * 1000;
    if (expiresAtMs + toleranceMs <= nowMs) return refusedToken("expired");
    if (answer.nbf !== undefined && answer.nbf * 1000 - toleranceMs > nowMs) return refusedToken("not_yet_valid");
    return tokenFromClaims(issuer, answer, { expiresAtMs, tokenHash });
  }
}
