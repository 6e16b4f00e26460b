/**
 * Connection test of a vendor account: asks for its list of models, as the vendor's own SDK would, with the stored secret. Only
 * stored accounts are tested, so a secret never goes to an address that was not saved with it. Nothing of the answer but
 * the names of models comes back: a test must not become a way to read pages inside the house.
 */
import { openSecret, providerSecretContext } from "@/lib/config/secret-box";
import { PROVIDER_TEST_MODELS } from "@/lib/contracts/models";
import type { ProviderTestResult } from "@/lib/contracts/models";
import { findProvider, listProviderBoxes } from "@/lib/db/providers";
import type { Provider } from "@/lib/domain/entities";
import { may, organisationScope } from "@/lib/domain/role";
import type { Principal } from "@/lib/domain/role";
import { found, notFound } from "./change";
import type { ControlDeps } from "./deps";
import type { OutboundAnswer } from "./outbound";

interface Probe {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Versions of the vendors' interfaces at which the lists below are documented. */
const ANTHROPIC_VERSION = "2023-06-01";
const AZURE_VERSION = "2024-10-21";

/** Tests the account. `not_found` for those who may not change accounts. */
export async function testProvider(
  deps: ControlDeps,
  principal: Principal,
  ref: { readonly organisationId: string; readonly providerId: string },
): Promise<ProviderTestResult> {
  const { organisationId, providerId } = ref;
  if (!may(principal, "model.write", organisationScope(organisationId))) throw notFound();
  const provider = found(await findProvider(deps.db.prisma, organisationId, providerId));
  const box = (await listProviderBoxes(deps.db.prisma, organisationId)).get(providerId);
  const secret =
    box === undefined
      ? null
      : openSecret(deps.masterKey, Buffer.from(box, "base64"), providerSecretContext(organisationId, providerId));
  const probe = probeOf(provider, secret);
  return resultOf(await deps.outbound.get(probe.url, probe.headers));
}

/** Where the list of models is and how the secret travels, by the vendors' API references. */
function probeOf({ kind, baseUrl }: Provider, secret: string | null): Probe {
  const base = baseUrl.replace(/\/+$/u, "");
  const withSecret = (name: string, value: (secret: string) => string = (text) => text): Record<string, string> =>
    secret === null ? {} : { [name]: value(secret) };
  switch (kind) {
    case "anthropic":
      return {
        url: /\/v1$/u.test(base) ? `${base}/models` : `${base}/v1/models`,
        headers: { "anthropic-version": ANTHROPIC_VERSION, ...withSecret("x-api-key") },
      };
    case "azure":
      return {
        url: /\/openai\/v1$/u.test(base)
          ? `${base}/models`
          : `${base.replace(/\/openai$/u, "")}/openai/models?api-version=${AZURE_VERSION}`,
        headers: withSecret("api-key"),
      };
    case "gemini":
      return { url: `${base}/models`, headers: withSecret("x-goog-api-key") };
    case "ollama":
      return { url: /\/v1$/u.test(base) ? `${base}/models` : `${base}/api/tags`, headers: {} };
    default:
      return { url: `${base}/models`, headers: withSecret("authorization", (text) => `Bearer ${text}`) };
  }
}

function resultOf(answer: OutboundAnswer): ProviderTestResult {
  if (answer.kind === "refused")
    return { result: "refused_address", reason: answer.code, detail: answer.message, models: [] };
  if (answer.kind === "failed") return { result: "network", reason: answer.reason, detail: answer.reason, models: [] };
  const { status } = answer;
  const body = parsed(answer.text);
  const about = { reason: null, detail: `HTTP ${status}`, models: [] };
  const models = status === 200 ? modelNames(body) : null;
  if (models !== null) return { result: "ok", ...about, models };
  // Google answers 400 to a wrong key.
  if (status === 401 || status === 403 || /API_KEY_INVALID/u.test(answer.text)) return { result: "auth", ...about };
  if (status === 429 || (status >= 500 && body !== null)) return { result: "busy", ...about };
  // Some vendors have no list. What answers in JSON with an error of its own is an API all the same.
  if ((status === 404 || status === 405) && hasError(body)) return { result: "unlisted", ...about };
  return { result: "not_an_api", ...about };
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}

function hasError(body: Readonly<Record<string, unknown>> | null): boolean {
  return body !== null && ("error" in body || "code" in body);
}

/** OpenAI and Anthropic: `data[].id`; Gemini and Ollama: `models[].name`. Null where it is neither. */
function modelNames(body: Readonly<Record<string, unknown>> | null): string[] | null {
  const list: unknown = body?.["data"] ?? body?.["models"];
  if (!Array.isArray(list)) return null;
  const names = list.slice(0, PROVIDER_TEST_MODELS).map((one: unknown) => {
    if (typeof one !== "object" || one === null) return null;
    const entry = one as Readonly<Record<string, unknown>>;
    const name = entry["id"] ?? entry["name"];
    return typeof name === "string" ? name.replace(/^models\//u, "").slice(0, 200) : null;
  });
  return names.every((name) => name !== null) ? names : null;
}
