/** A stand-in for an identity provider on loopback: publishes keys, answers introspection. Everything of ours is real. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { JWK, JWTPayload } from "jose";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { frozenClock } from "@/lib/domain/clock";
import { guardedAgent } from "@/lib/net/guarded-connect";
import { guardedRequest } from "@/lib/net/guarded-request";
import { outboundPolicy } from "@/lib/net/outbound-policy";
import type { IntrospectionSettings } from "../introspection";
import { Introspector } from "../introspection";
import type { TokenIssuer } from "../issuer";
import { issuerRegistry, tokenIssuerSchema } from "../issuer";
import type { Fetch, JwksSettings } from "../jwks";
import { JwksCache } from "../jwks";
import { createProvedClaims } from "../jwt";
import { createTokenVerifier } from "../token-verifier";
import type { TokenVerdict } from "../verified-token";

export const NOW = Date.UTC(2026, 10, 29, 12);
export const SECONDS = NOW / 1000;
export const ISSUER = "https://login.acme.example/";
export const CLAIMS = { iss: ISSUER, aud: "spillway", azp: "con_1", sub: "ada", scope: "chat", exp: SECONDS + 600 };

export interface Signer {
  readonly publicJwk: JWK;
  sign(claims: JWTPayload, header?: object): Promise<string>;
}

export async function signer(kid: string, alg = "ES256"): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return {
    publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" },
    sign: (claims, header = {}) => new SignJWT(claims).setProtectedHeader({ alg, kid, ...header }).sign(privateKey),
  };
}

type Respond = (request: IncomingMessage, response: ServerResponse, body: string) => void;

export interface IdentityProvider {
  readonly url: string;
  /** Published under every path, unless `respond` says otherwise. */
  keys: JWK[];
  respond: Respond | undefined;
  calls: { path: string; body: string; authorization: string | undefined }[];
  close(): void;
}

export async function startIdentityProvider(): Promise<IdentityProvider> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      provider.calls.push({ path: request.url ?? "", body, authorization: request.headers.authorization });
      if (provider.respond) provider.respond(request, response, body);
      else response.end(JSON.stringify({ keys: provider.keys }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const provider: IdentityProvider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys: [],
    respond: undefined,
    calls: [],
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return provider;
}

export function jwksIssuer(url: string, facts: object = {}): TokenIssuer {
  return tokenIssuerSchema.parse({
    kind: "jwks",
    id: "iss_1",
    organisationId: "acme01",
    issuer: ISSUER,
    audiences: ["spillway", "gateway"],
    jwksUrl: `${url}/keys`,
    claims: { consumer: ["azp"], user: ["sub"], scopes: ["scope"] },
    trafficClass: "general",
    ...facts,
  });
}

export function opaqueIssuer(url: string, facts: object = {}): TokenIssuer {
  return tokenIssuerSchema.parse({
    ...jwksIssuer(url),
    kind: "introspection",
    introspectionUrl: `${url}/introspect`,
    clientId: "spill way",
    ...facts,
  });
}

export interface VerifierSettings {
  readonly jwks?: Partial<JwksSettings>;
  readonly introspection?: Partial<IntrospectionSettings>;
  readonly allow?: string[];
}

export function verifierOf(issuers: TokenIssuer[], settings: VerifierSettings = {}) {
  const clock = frozenClock(NOW);
  const policy = outboundPolicy({ allow: settings.allow ?? ["127.0.0.1"] });
  const agent = guardedAgent({ policy });
  const fetch: Fetch = (call) => guardedRequest(call, { policy, agent });
  let registry = issuerRegistry(issuers);
  const introspector = new Introspector(
    { fetch, clock, clientSecret: () => "s:ecret&1" },
    { timeoutMs: 1000, ...settings.introspection },
  );
  const proved = createProvedClaims();
  const verify = createTokenVerifier({
    clock,
    keys: new JwksCache({ fetch, clock }, settings.jwks),
    proved,
    introspector,
    issuers: () => registry,
  });
  const reconfigure = (next: TokenIssuer[]) => {
    registry = issuerRegistry(next);
  };
  return { clock, verify, reconfigure, proved };
}

export function reason(verdict: TokenVerdict): string {
  return verdict.ok ? "ok" : verdict.reason;
}
