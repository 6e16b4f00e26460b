/**
 * `POST /batches`: what the whole file can cost is held on every budget above the caller before the provider is asked. From then
 * on the worker keeps the hold and settles it: it is told before the provider is asked, so that whatever dies in between, a
 * batch that runs is paid for and one that does not is free.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import type { BatchFacts } from "@/lib/domain/provider-job";
import type { BatchInput, StoredObject } from "@/lib/domain/stored-object";
import { isObjectId, objectsOfBatch } from "@/lib/domain/stored-object";
import type { Authenticated, Classified, Held } from "../exchange";
import type { GatewayAnswer } from "../http";
import { jsonAnswer } from "../http";
import { UpstreamFailure } from "../ports";
import { isServing, servingOf } from "../serving";
import { explanationOf, openOf } from "../stages/settle";
import type { AttemptFailure } from "../stages/upstream-error";
import { failureOfAnswer, failureOfTransport } from "../stages/upstream-error";
import { upstreamErrorAnswer } from "../wire/error-response";
import { servedHeaders } from "../wire/response-headers";
import { batchRoute } from "../wire/routes/batch-file";
import type { Body } from "../wire/routes/fields";
import { Invalid, parseJsonBody, wordOf } from "../wire/routes/fields";
import type { GovernedRoute } from "../wire/routes/governed-routes";
import type { JsonRequest } from "../wire/routes/route-request";
import { jsonOf } from "./ask-provider";
import { estimateBatch } from "./batch-bound";
import type { StoredPlan } from "./hold-stored";
import { asBound, callAt, holdStored, shapeless } from "./hold-stored";
import type { Creation } from "./named-creation";
import { createdOnce } from "./named-creation";
import { ownObject } from "./read-stored";
import type { StoredAsked, StoredResult, StoredServing } from "./stored-call";
import { organisationOf, ownerOf, refused } from "./stored-call";

/** How much later than it should the provider's answer may come before the worker looks for itself. */
const ANSWER_GRACE_MS = 60_000;
const WINDOW = "24h";

/** A batch as it is asked for. */
interface Order {
  readonly request: JsonRequest;
  readonly inputFileId: string;
  readonly endpoint: string;
  readonly route: GovernedRoute;
  readonly file: StoredObject;
  readonly input: BatchInput;
}

function required(body: Body, name: string): string {
  const word = wordOf(body, name);
  if (word === null || word === "") throw new Invalid(name, `${name} must be a text`);
  return word;
}

function parseOrder(bytes: Uint8Array): JsonRequest | Denial {
  return parseJsonBody(bytes, (body) => {
    if (required(body, "completion_window") !== WINDOW) {
      throw new Invalid("completion_window", `completion_window must be ${WINDOW}`);
    }
    required(body, "input_file_id");
    if (!batchRoute(required(body, "endpoint"))) {
      throw new Invalid("endpoint", "endpoint must be a route of which batches are served");
    }
    return shapeless("", "batch");
  });
}

async function readOrder({ request }: StoredAsked, { maxBodyBytes }: StoredServing): Promise<JsonRequest | Denial> {
  const bytes = await request.bytes(maxBodyBytes);
  if (bytes !== "too_large") return parseOrder(bytes);
  return denial("request_too_large", { detail: `at most ${String(maxBodyBytes)} bytes` });
}

async function orderOf(request: JsonRequest, caller: Authenticated, deps: StoredServing): Promise<Order | Denial> {
  const [inputFileId, endpoint] = [String(request.body.input_file_id), String(request.body.endpoint)];
  const route = batchRoute(endpoint);
  const file = await ownObject(caller, "file", inputFileId, deps);
  if (isDenial(file)) return file;
  const { input } = file;
  if (!input) return denial("invalid_request", { param: "input_file_id", detail: "the file's purpose is not batch" });
  if (input.route !== route?.route) {
    return denial("invalid_request", { param: "endpoint", detail: "endpoint must be the url of the file's lines" });
  }
  return { request, inputFileId, endpoint, route, file, input };
}

const MOVED = "the file lies where its model is not served any more: upload it again";

/** The call at the deployment that has the file; its model may be forbidden, gone or unpriced by now. */
function planOf(
  { request, route, file, input }: Order,
  caller: Classified,
  nowMs: number,
  regions: readonly string[] | null,
  deps: StoredServing,
): StoredPlan | Denial {
  const shape = { route: "batches", kinds: route.kinds, trafficClass: caller.trafficClass, regions };
  const serving = servingOf(caller.view, caller.chain, input.model, shape, nowMs, deps.adapterOf);
  if (!isServing(serving)) return serving;
  const target = serving.targets.find(({ id }) => id === file.deploymentId);
  if (target?.deployment.upstreamModel !== input.upstreamModel || target.provider.id !== file.providerId) {
    return denial("invalid_request", { param: "input_file_id", detail: MOVED });
  }
  const call = callAt(caller, target, input.model, shape, nowMs, deps);
  if (isDenial(call)) return call;
  const first = call.servings.find((one) => one !== undefined);
  const bound = first && asBound(input.model, () => estimateBatch(input, first));
  if (!bound) return denial("price_missing", { model: input.model });
  if (isDenial(bound)) return bound;
  // All plans that serve it do so in the same place.
  const estimates = call.servings.map((one) => one && bound);
  return { request: { ...request, model: input.model }, call, estimates, endUser: input.endUser };
}

function factsOf(held: Held, { inputFileId, endpoint, input }: Order, nowMs: number): BatchFacts {
  const { caller, serving } = held;
  const { deployment, provider, adapter } = serving.target;
  return {
    kind: "batch",
    ...{ reservationId: held.reservationId, organisationId: organisationOf(caller), ...ownerOf(caller) },
    ...{ apiKeyId: caller.key.keyId, providerId: provider.id, deploymentId: deployment.id, model: input.model },
    ...{ inputFileId, endpoint, lines: input.lines, vendor: adapter.vendor, rates: serving.price.rates },
    ...{ createdMs: nowMs, answerByMs: nowMs + deployment.timeoutMs + ANSWER_GRACE_MS },
    explanation: JSON.parse(explanationOf(held)) as Record<string, unknown>,
  };
}

/** The batch that the provider made, or an attempt that brought none. */
async function askFor(
  held: Held,
  { request }: Order,
  asked: StoredAsked,
  deps: StoredServing,
): Promise<{ readonly batch: Record<string, unknown> } | AttemptFailure> {
  const { caller, reservationId } = held;
  const { deployment, provider, adapter, path } = held.serving.target;
  const context = asked.errorContext(caller);
  const organisationId = organisationOf(caller);
  const tag = deps.tagger.tag({ reservationId, organisationId, apiKeyId: caller.key.keyId });
  const passed = adapter.passedHeaders("batches", (name) => asked.request.headers.get(name));
  try {
    const upstream = await deps.providers.send({
      ...{ organisationId, provider, path, body: request.text },
      headers: [
        ...["content-type", "application/json", "accept", "application/json", "x-spillway-request", tag],
        ...held.call.billingTags,
        ...passed,
      ],
      ...{ timeoutMs: deployment.timeoutMs, isStream: false },
    });
    if (upstream.status >= 400) return await failureOfAnswer(held, upstream, context, deps.clock.nowMs());
    const batch = await jsonOf(upstream);
    if (typeof batch?.id === "string" && isObjectId(batch.id)) return { batch };
    return failureOfTransport(new UpstreamFailure("unknown", "closed"), context);
  } catch (error) {
    return failureOfTransport(
      error instanceof UpstreamFailure ? error : new UpstreamFailure("unknown", "closed", error),
      context,
    );
  }
}

/** The worker keeps the hold from now on. Where the store is away the hold stays here too, and the worker has its note. */
async function handOver(held: Held, { ledger }: StoredServing): Promise<void> {
  const places = held.call.rateLimits.filter(({ concurrency }) => concurrency !== null);
  await ledger.handOver(
    openOf(held),
    places.map(({ id }) => id),
  );
}

async function makeBatch(
  held: Held,
  order: Order,
  asked: StoredAsked,
  creation: Creation,
  deps: StoredServing,
): Promise<GatewayAnswer> {
  const { register, ledger } = deps;
  const facts = factsOf(held, order, deps.clock.nowMs());
  try {
    await creation.mayLeave();
    await register.move({ to: "creating", facts }, []);
  } catch (error) {
    creation.leftNothing();
    await ledger.void(openOf(held));
    throw error;
  }
  const made = await askFor(held, order, asked, deps);
  const context = asked.errorContext(held.caller);
  if (!("batch" in made)) {
    if (made.due === "nothing") {
      creation.leftNothing();
      await ledger.void(openOf(held));
      // Not told, the worker looks for itself.
      await register.move({ to: "void", facts }, []).catch(() => undefined);
    } else await handOver(held, deps);
    return made.answer(deps.random());
  }
  const objects = objectsOfBatch(facts, facts.model, made.batch);
  try {
    await register.move({ to: "running", facts, said: made.batch }, objects);
  } catch {
    // It runs, and the worker will find it; until then it is nobody's to ask for.
    await handOver(held, deps);
    return upstreamErrorAnswer({ status: 503, code: "upstream_error", retryAfterMs: 1000 }, context, deps.random());
  }
  await handOver(held, deps);
  const headers = servedHeaders(held, deps.clock.nowMs());
  return jsonAnswer(200, objects[0]?.object ?? made.batch, headers);
}

/** Throws StoreUnavailable. */
export async function createBatch(
  asked: StoredAsked,
  caller: Authenticated,
  deps: StoredServing,
): Promise<StoredResult> {
  const request = await readOrder(asked, deps);
  if (isDenial(request)) return refused(request, caller);
  return createdOnce(asked, caller, request, deps, async (creation) => {
    const order = await orderOf(request, caller, deps);
    if (isDenial(order)) return refused(order, caller);
    const held = await holdStored(asked, deps, (again, nowMs, regions) => planOf(order, again, nowMs, regions, deps));
    return "refusal" in held ? held : makeBatch(held, order, asked, creation, deps);
  });
}
