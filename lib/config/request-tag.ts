/**
 * The tag we send upstream with every call (`x-spillway-request`), so that the provider's bill can be matched line by
 * line: `<reservationId>.<organisationId>.<keyId>.<mac>`. It is signed, because a bill line may be all that is left of a
 * call, and booking it must not trust what somebody else wrote into it.
 */
import { timingSafeEqual } from "node:crypto";
import { quickHmac } from "./quick-hmac";

/** 126 bits: what whole characters of base64url hold of 128. */
const MAC_CHARACTERS = 21;

export interface RequestTagParts {
  /** `<requestId>:<attempt>` */
  readonly reservationId: string;
  readonly organisationId: string;
  readonly apiKeyId: string;
}

const codes = new WeakMap<Buffer, (text: string) => string>();

function mac(pepper: Buffer, payload: string): string {
  let code = codes.get(pepper);
  if (!code) {
    code = quickHmac(pepper);
    codes.set(pepper, code);
  }
  return code(`request-tag\n${payload}`).slice(0, MAC_CHARACTERS);
}

export function signRequestTag(pepper: Buffer, parts: RequestTagParts): string {
  const payload = `${parts.reservationId}.${parts.organisationId}.${parts.apiKeyId}`;
  return `${payload}.${mac(pepper, payload)}`;
}

/** What a tag says; undefined where it is not ours. */
export function verifyRequestTag(pepper: Buffer, tag: string): RequestTagParts | undefined {
  const [reservationId, organisationId, apiKeyId, signature, ...rest] = tag.split(".");
  if (!reservationId || !organisationId || !apiKeyId || !signature || rest.length > 0) return undefined;
  const given = Buffer.from(signature);
  const expected = Buffer.from(mac(pepper, `${reservationId}.${organisationId}.${apiKeyId}`));
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  return { reservationId, organisationId, apiKeyId };
}
