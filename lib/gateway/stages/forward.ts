/** Sends the call upstream: the body untouched but for what `upstream-patches.ts` names, or translated where it must be. */
import { isDenial } from "@/lib/domain/denial";
import type { Held } from "../exchange";
import type { ProviderClient, RequestTagger, StreamedBody, UpstreamRequest, UpstreamResponse } from "../ports";
import { patchJson } from "../wire/json-scan";
import { writeForm } from "../wire/routes/form";
import type { FormRequest, JsonRequest } from "../wire/routes/route-request";
import { isFormRequest } from "../wire/routes/route-request";
import type { UpstreamFacts } from "../wire/routes/upstream-patches";
import { formPatches, jsonPatches, needsOlderCap } from "../wire/routes/upstream-patches";
import { isRaw } from "./answer-raw";
import { translatedBody } from "./translation";

export interface ForwardDeps {
  readonly providers: ProviderClient;
  readonly tagger: RequestTagger;
  /** A boundary no file can hold by chance. */
  readonly newBoundary: () => string;
}

function factsOf(held: Held): UpstreamFacts {
  const { target } = held.serving;
  return {
    upstreamModel: target.deployment.upstreamModel,
    writtenCap: held.writtenCap,
    providerKind: target.adapter.vendor,
  };
}

/** The body as it goes upstream. */
export function upstreamBody(held: Held, request: JsonRequest): string {
  const { target } = held.serving;
  const { upstreamModel } = target.deployment;
  if (target.translation) {
    // Held with this cap and checked before the hold: a denial here is a bug of ours.
    const outputCap = held.writtenCap ?? request.outputCap ?? held.heldOutputTokens;
    const made = translatedBody(request, target.translation, {
      upstreamModel,
      outputCap,
      vendor: target.adapter.vendor,
    });
    if (isDenial(made)) throw new Error("a body that could be translated cannot be translated any more");
    return made;
  }
  if (request.kind === "passthrough") return request.text;
  const needsUsage = request.isStream && !request.wantsUsage;
  const isAsItCame = upstreamModel === request.model && held.writtenCap === null && !needsUsage;
  if (isAsItCame && !needsOlderCap(request, target.adapter.vendor)) return request.text;
  const patches = jsonPatches(request, factsOf(held));
  return Object.keys(patches).length === 0 ? request.text : patchJson(request.text, request.scan, patches);
}

function formBody(held: Held, request: FormRequest, boundary: string): { body: StreamedBody; type: string } {
  const written = writeForm(request.form, formPatches(request, factsOf(held)), boundary);
  return { body: written, type: written.contentType };
}

function bodyAndHeaders(held: Held, deps: ForwardDeps): { body: UpstreamRequest["body"]; headers: string[] } {
  const { request } = held;
  const accept = request.isStream ? "text/event-stream" : "application/json";
  if (!isFormRequest(request)) {
    return { body: upstreamBody(held, request), headers: ["content-type", "application/json", "accept", accept] };
  }
  const { body, type } = formBody(held, request, deps.newBoundary());
  return {
    body,
    headers: ["content-type", type, "content-length", String(body.contentLength), "accept", accept],
  };
}

/** Gemini says in the query that a stream is one of events. */
function pathOf({ request, serving }: Held): string {
  return request.kind === "gemini" && request.isStream ? `${serving.target.path}?alt=sse` : serving.target.path;
}

/** Throws UpstreamFailure. */
export async function forward(
  held: Held,
  getHeader: (name: string) => string | null,
  signal: AbortSignal | undefined,
  deps: ForwardDeps,
): Promise<UpstreamResponse> {
  const { serving, caller } = held;
  const { deployment, provider, adapter, translation } = serving.target;
  const { body, headers } = bodyAndHeaders(held, deps);
  const organisationId = caller.view.organisation.id;
  headers.push(
    "x-spillway-request",
    deps.tagger.tag({ reservationId: held.reservationId, organisationId, apiKeyId: caller.key.keyId }),
    ...held.call.billingTags,
    ...adapter.passedHeaders(translation?.route ?? caller.route, getHeader),
  );
  return deps.providers.send({
    organisationId,
    provider,
    path: pathOf(held),
    body,
    headers,
    timeoutMs: deployment.firstByteTimeoutMs ?? deployment.timeoutMs,
    totalTimeoutMs: deployment.timeoutMs,
    ...(deployment.connectTimeoutMs === null ? {} : { connectTimeoutMs: deployment.connectTimeoutMs }),
    ...(deployment.idleTimeoutMs === null ? {} : { idleTimeoutMs: deployment.idleTimeoutMs }),
    isStream: held.request.isStream || isRaw(held),
    ...(signal ? { signal } : {}),
  });
}
