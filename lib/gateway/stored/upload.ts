/**
 * `POST /files`: the form is spooled, a batch file checked line by line, and only then sent on, as a stream. Uploads are free, and
 * still must find room: who has nothing left reaches nobody.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import type { StoredObject } from "@/lib/domain/stored-object";
import { isObjectId } from "@/lib/domain/stored-object";
import type { Classified, Held } from "../exchange";
import { regionsOf } from "../hold";
import type { GatewayAnswer } from "../http";
import { jsonAnswer } from "../http";
import { UpstreamFailure } from "../ports";
import type { Target } from "../serving";
import { isServing, servingOf } from "../serving";
import { authenticate, classify } from "../stages/authenticate";
import { openOf } from "../stages/settle";
import { failureOfAnswer, failureOfTransport } from "../stages/upstream-error";
import { upstreamErrorAnswer } from "../wire/error-response";
import { servedHeaders } from "../wire/response-headers";
import type { FilePart, Form, WrittenForm } from "../wire/routes/form";
import { writeForm } from "../wire/routes/form";
import { readForm } from "../wire/routes/form-reader";
import { parseFile } from "../wire/routes/form-routes";
import { jsonOf } from "./ask-provider";
import type { CheckedFile } from "./check-batch-file";
import { checkBatchFile, MAX_FILE_BYTES } from "./check-batch-file";
import { callAt, holdStored, LEAST, shapeless } from "./hold-stored";
import { createdOnce } from "./named-creation";
import type { StoredAsked, StoredRefusal, StoredResult, StoredServing } from "./stored-call";
import { organisationOf, ownerOf, refused } from "./stored-call";

const MEMORY_BYTES = 64 * 1024;

/** Where a file goes, and under which model's name it is held. */
interface Upload {
  readonly form: Form;
  readonly target: Target;
  readonly model: string;
  readonly kinds: readonly string[];
  readonly checked: CheckedFile | null;
}

/** A file that is no batch belongs to no model: it goes to the provider of the first model, by name, that the key may use there. */
function firstPlace(
  caller: Classified,
  regions: readonly string[] | null,
  nowMs: number,
  { adapterOf }: StoredServing,
): Pick<Upload, "target" | "model" | "kinds"> | Denial {
  const models = [...caller.view.models.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
  for (const { name, kind } of models) {
    const shape = { kinds: [kind], trafficClass: caller.trafficClass, route: "files", regions };
    const serving = servingOf(caller.view, caller.chain, name, shape, nowMs, adapterOf);
    if (isServing(serving)) return { target: serving.target, model: name, kinds: [kind] };
  }
  return denial("object_not_found", { detail: "no provider that this key may use takes files" });
}

function fileOf(form: Form): FilePart | undefined {
  return form.parts.find((part): part is FilePart => part.kind === "file" && part.name === "file");
}

function purposeOf(form: Form): string {
  const part = form.parts.find(({ name }) => name === "purpose");
  return part?.kind === "field" ? part.value : "";
}

/** The form with the checked copy in the place of its file. */
function sentForm({ form, checked }: Upload, boundary: string): WrittenForm {
  if (!checked) return writeForm(form, {}, boundary);
  const { file } = checked;
  const parts = form.parts.map((part) =>
    part.kind === "file" && part.name === "file"
      ? { ...part, bytes: file.bytes, head: file.head, read: () => file.read() }
      : part,
  );
  return writeForm({ ...form, parts }, {}, boundary);
}

async function readUpload(
  form: Form,
  caller: Classified,
  asked: StoredAsked,
  deps: StoredServing,
): Promise<Upload | Denial> {
  const regions = regionsOf(asked.request);
  if (isDenial(regions)) return regions;
  if (purposeOf(form) !== "batch") {
    const place = firstPlace(caller, regions, deps.clock.nowMs(), deps);
    return isDenial(place) ? place : { form, checked: null, ...place };
  }
  const file = fileOf(form);
  if (!file) return denial("invalid_request", { param: "file", detail: "file must be one file" });
  if (file.bytes > MAX_FILE_BYTES) {
    return denial("request_too_large", { detail: `at most ${String(MAX_FILE_BYTES)} bytes` });
  }
  const checked = await checkBatchFile(file.read(), caller, regions, deps);
  if (isDenial(checked)) return checked;
  return { form, checked, target: checked.target, model: checked.input.model, kinds: checked.kinds };
}

function objectOf(
  caller: Classified,
  { target, checked }: Upload,
  file: Record<string, unknown>,
  nowMs: number,
): StoredObject {
  return {
    ...{ kind: "file", id: String(file.id), ...ownerOf(caller), apiKeyId: caller.key.keyId },
    ...{ providerId: target.provider.id, deploymentId: checked ? target.id : null, createdMs: nowMs },
    ...{ object: file, input: checked?.input ?? null, batchId: null },
  };
}

async function send(held: Held, upload: Upload, asked: StoredAsked, deps: StoredServing): Promise<GatewayAnswer> {
  const { caller } = held;
  const context = asked.errorContext(caller);
  const { provider, adapter, deployment } = upload.target;
  const form = sentForm(upload, deps.newBoundary());
  const headers = ["content-type", form.contentType, "content-length", String(form.contentLength)];
  try {
    const upstream = await deps.providers.send({
      ...{ organisationId: organisationOf(caller), provider, path: held.serving.target.path, body: form },
      headers: [...headers, ...adapter.passedHeaders("files", (name) => asked.request.headers.get(name))],
      ...{ timeoutMs: deployment.timeoutMs, isStream: false },
    });
    const nowMs = deps.clock.nowMs();
    if (upstream.status >= 400) return (await failureOfAnswer(held, upstream, context, nowMs)).answer(deps.random());
    const file = await jsonOf(upstream);
    if (typeof file?.id !== "string" || !isObjectId(file.id)) {
      return upstreamErrorAnswer({ status: 502, code: "upstream_error" }, context, deps.random());
    }
    await deps.register.put(organisationOf(caller), [objectOf(caller, upload, file, nowMs)]);
    return jsonAnswer(200, file, servedHeaders(held, nowMs));
  } catch (error) {
    if (error instanceof UpstreamFailure) return failureOfTransport(error, context).answer(deps.random());
    throw error;
  }
}

async function holdAndSend(
  upload: Upload,
  asked: StoredAsked,
  deps: StoredServing,
): Promise<GatewayAnswer | StoredRefusal> {
  const { model, kinds, target, checked } = upload;
  const held = await holdStored(asked, deps, (caller, nowMs, regions) => {
    const call = callAt(caller, target, model, { route: "files", kinds, regions }, nowMs, deps);
    if (isDenial(call)) return call;
    const estimates = call.servings.map((serving) => serving && LEAST);
    return {
      request: { ...shapeless(model, "file"), form: upload.form, bodyBytes: 0 },
      call,
      estimates,
      endUser: checked?.input.endUser ?? null,
    };
  });
  if ("refusal" in held) return held;
  try {
    return await send(held, upload, asked, deps);
  } finally {
    await deps.ledger.void(openOf(held));
  }
}

/** Throws StoreUnavailable. */
export async function uploadFile(asked: StoredAsked, deps: StoredServing): Promise<StoredResult> {
  const { request, received, clientAddress } = asked;
  const known = await authenticate(received, request.headers, clientAddress, deps.clock.nowMs(), deps);
  if (isDenial(known)) return refused(known, undefined);
  const caller = classify(known, request.headers);
  const contentType = request.headers.get("content-type") ?? "";
  const limits = { maxBytes: deps.maxFormBytes, memoryBytes: MEMORY_BYTES };
  const form = await readForm(request.chunks(), contentType, limits, deps.openSpool);
  if (isDenial(form)) return refused(form, caller);
  try {
    const parsed = parseFile(form);
    if (isDenial(parsed)) return refused(parsed, caller);
    return await createdOnce(asked, caller, parsed, deps, async () => {
      const upload = await readUpload(form, caller, asked, deps);
      if (isDenial(upload)) return refused(upload, caller);
      try {
        return await holdAndSend(upload, asked, deps);
      } finally {
        await upload.checked?.file.discard();
      }
    });
  } finally {
    await form.discard();
  }
}
