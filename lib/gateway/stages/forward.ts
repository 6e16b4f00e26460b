/** Sends the call upstream: the body untouched but for model name, written-in output cap and the asked-for usage chunk. */
import type { Held } from "../exchange";
import type { ProviderClient, RequestTagger, UpstreamResponse } from "../ports";
import { patchJson } from "../wire/json-scan";

const PATHS: Readonly<Record<string, string>> = {
  "chat/completions": "/chat/completions",
  embeddings: "/embeddings",
};

/** OpenAI's newer models refuse `max_tokens`; other servers do not know `max_completion_tokens`. */
function capName(providerKind: string): string {
  return providerKind === "openai" ? "max_completion_tokens" : "max_tokens";
}

/** The body as it goes upstream. */
export function upstreamBody(held: Held): string {
  const { request, serving } = held;
  const patches: Record<string, string> = {};
  if (serving.deployment.upstreamModel !== request.model)
    patches.model = JSON.stringify(serving.deployment.upstreamModel);
  if (request.kind === "chat") {
    if (held.writtenCap !== null) patches[capName(serving.provider.kind)] = String(held.writtenCap);
    if (request.isStream && !request.wantsUsage) patches.stream_options = '{"include_usage":true}';
  }
  return Object.keys(patches).length === 0 ? request.text : patchJson(request.text, request.scan, patches);
}

/** Throws UpstreamFailure. */
export async function forward(
  held: Held,
  signal: AbortSignal | undefined,
  deps: { readonly providers: ProviderClient; readonly tagger: RequestTagger },
): Promise<UpstreamResponse> {
  const { serving, caller } = held;
  return deps.providers.send({
    organisationId: caller.view.organisation.id,
    provider: serving.provider,
    path: PATHS[caller.route] ?? `/${caller.route}`,
    body: upstreamBody(held),
    headers: {
      "content-type": "application/json",
      accept: held.request.isStream ? "text/event-stream" : "application/json",
      "x-spillway-request": deps.tagger.tag({
        reservationId: held.reservationId,
        organisationId: caller.view.organisation.id,
        apiKeyId: caller.key.keyId,
      }),
    },
    timeoutMs: serving.deployment.timeoutMs,
    isStream: held.request.isStream,
    ...(signal ? { signal } : {}),
  });
}
