/**
 * Tokens of identity providers to callers: the index says which organisation may answer, the organisation's snapshot says whom
 * it trusts, and only what that proves counts.
 */
import { issuerSecretContext, openSecret } from "@/lib/config/secret-box";
import type { Clock } from "@/lib/domain/clock";
import type { TokenIssuerDocument } from "@/lib/domain/snapshot";
import type { OrganisationSnapshot } from "@/lib/gateway/organisation-view";
import type { PolicySource } from "@/lib/gateway/ports";
import { Introspector } from "@/lib/identity/introspection";
import type { IssuerRegistry, TokenIssuer } from "@/lib/identity/issuer";
import { issuerRegistry, tokenIssuerSchema } from "@/lib/identity/issuer";
import { JwksCache } from "@/lib/identity/jwks";
import { claimedIssuer, createProvedClaims, MAX_TOKEN_LENGTH } from "@/lib/identity/jwt";
import type { TokenVerifier } from "@/lib/identity/token-verifier";
import { createTokenVerifier } from "@/lib/identity/token-verifier";
import { refusedToken } from "@/lib/identity/verified-token";
import { guardedAgent } from "@/lib/net/guarded-connect";
import { guardedRequest } from "@/lib/net/guarded-request";
import type { OutboundPolicy } from "@/lib/net/outbound-policy";
import type { IssuerDirectory } from "@/lib/redis/issuer-directory";

export interface CallerTokenSettings {
  readonly policies: PolicySource;
  readonly directory: IssuerDirectory;
  readonly clock: Clock;
  readonly masterKey: Buffer;
  readonly outbound: OutboundPolicy;
}

export interface CallerTokens {
  /** Throws StoreUnavailable; see VerifyToken. */
  readonly verify: TokenVerifier;
  close(): Promise<void>;
}

/** Of all organisations; issuers are few. */
const MAX_BOXES = 10_000;

/** Client secrets of issuers, sealed, by issuer id: an issuer's id is no other organisation's. */
class SealedSecrets {
  private readonly documents = new Map<string, TokenIssuerDocument>();

  constructor(private readonly masterKey: Buffer) {}

  note(document: TokenIssuerDocument): void {
    if (this.documents.size >= MAX_BOXES) this.documents.clear();
    this.documents.set(document.id, document);
  }

  /** Throws where there is none or it does not open. */
  open(issuerId: string): string {
    const document = this.documents.get(issuerId);
    if (!document?.secretBox) throw new Error("the issuer has no client secret");
    const context = issuerSecretContext(document.organisationId, issuerId);
    return openSecret(this.masterKey, Buffer.from(document.secretBox, "base64"), context);
  }
}

/** Issuers the organisation trusts. A document that cannot be read, or is of another organisation, is trusted for nothing. */
function trustedIssuers({ documents }: OrganisationSnapshot, secrets: SealedSecrets): TokenIssuer[] {
  return documents.issuers.flatMap((document) => {
    const issuer = tokenIssuerSchema.safeParse(document);
    if (!issuer.success || issuer.data.organisationId !== documents.organisation.id) return [];
    secrets.note(document);
    return [issuer.data];
  });
}

function registryOf(snapshots: readonly OrganisationSnapshot[], secrets: SealedSecrets): IssuerRegistry | undefined {
  try {
    return issuerRegistry(snapshots.flatMap((snapshot) => trustedIssuers(snapshot, secrets)));
  } catch {
    // Two claim the same issuer, as may be for a moment while it moves: nobody pays for a token of unclear owner.
    return undefined;
  }
}

export function createCallerTokens({
  policies,
  directory,
  clock,
  masterKey,
  outbound,
}: CallerTokenSettings): CallerTokens {
  const agent = guardedAgent({ policy: outbound });
  const fetch: ConstructorParameters<typeof JwksCache>[0]["fetch"] = (call) =>
    guardedRequest(call, { policy: outbound, agent });
  const secrets = new SealedSecrets(masterKey);
  const registries = new WeakMap<OrganisationSnapshot, { readonly registry: IssuerRegistry | undefined }>();
  const registryFor = (snapshots: readonly OrganisationSnapshot[]): IssuerRegistry | undefined => {
    const [only] = snapshots;
    if (!only || snapshots.length > 1) return registryOf(snapshots, secrets);
    const known = registries.get(only) ?? { registry: registryOf(snapshots, secrets) };
    registries.set(only, known);
    return known.registry;
  };
  const shared = {
    clock,
    keys: new JwksCache({ fetch, clock }),
    proved: createProvedClaims(),
    introspector: new Introspector({ fetch, clock, clientSecret: (issuerId) => secrets.open(issuerId) }),
  };
  return {
    verify: async (token) => {
      if (token === "" || token.length > MAX_TOKEN_LENGTH) return refusedToken("malformed");
      const claimed = claimedIssuer(token);
      const ids = claimed === undefined ? await directory.ofOpaqueToken(token) : await directory.ofIssuer(claimed);
      const found = await Promise.all(ids.map((id) => policies.organisation(id)));
      const snapshots = found.flatMap((snapshot) => snapshot ?? []);
      const registry = registryFor(snapshots);
      return registry
        ? createTokenVerifier({ ...shared, issuers: () => registry })(token)
        : refusedToken("unknown_issuer");
    },
    close: () => agent.close(),
  };
}
