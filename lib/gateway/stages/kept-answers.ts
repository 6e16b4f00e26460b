/**
 * Answers that a provider keeps (OpenAI's Responses API: `store`, `previous_response_id`, `item_reference`). All of a company's
 * applications share the account they lie in, so whose they are is noted here when they are made, and asked before they are
 * continued. What is not known to be the caller's own does not exist for it.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import type { ByteSink, ByteStream } from "../byte-stream";
import type { Authenticated, Held } from "../exchange";
import type { GatewayAnswer } from "../http";
import type { AnswerOwners, KeptAnswerOwner, UpstreamResponse } from "../ports";
import type { JsonRequest } from "../wire/routes/route-request";
import { isFormRequest } from "../wire/routes/route-request";
import { SseSplitter } from "../wire/sse";
import { containersOf, mayBringContainer } from "./containers";

export interface KeptAnswersDeps {
  /** Absent: no answer can be continued. */
  readonly answerOwners?: AnswerOwners | undefined;
}

type Json = Readonly<Record<string, unknown>>;

const MAX_REFERENCES = 200;
/** Ids in one answer; more are not noted. */
const MAX_IDS = 500;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refuse(param: string, detail: string): Denial {
  return denial("invalid_request", { param, detail });
}

/** Ids of kept answers and of their items that a body refers to. */
function referencesOf(body: Json): { readonly param: string; readonly id: string }[] | Denial {
  const { previous_response_id: previous, conversation, input } = body;
  if (conversation !== undefined && conversation !== null) {
    return refuse("conversation", "conversations kept by the provider are not served; use previous_response_id");
  }
  const references = typeof previous === "string" ? [{ param: "previous_response_id", id: previous }] : [];
  for (const item of Array.isArray(input) ? (input as unknown[]) : []) {
    // An item of an id alone is a reference, whether it says so or not.
    if (!isObject(item) || typeof item.id !== "string") continue;
    if (item.type === "item_reference" || item.type === undefined || item.type === null) {
      references.push({ param: "input", id: item.id });
    }
  }
  return references.length > MAX_REFERENCES ? refuse("input", "too many references") : references;
}

function isOwn(owner: KeptAnswerOwner | undefined, { key }: Authenticated): owner is KeptAnswerOwner {
  return owner?.appId === key.appId && owner.environment === key.environment;
}

/** Whether calls of this kind can refer to answers that a provider keeps. */
export function mayContinue({ kind }: JsonRequest): boolean {
  return kind === "responses" || kind === "passthrough";
}

/**
 * Where the answers are kept that the body refers to: the id of the provider, or null where it refers to none; a denial where any
 * of them is not the caller's. Throws StoreUnavailable.
 */
export async function answersKeptAt(
  caller: Authenticated,
  request: JsonRequest,
  deps: KeptAnswersDeps,
): Promise<string | null | Denial> {
  const references = referencesOf(request.body);
  return isDenial(references) ? references : keptTogether(caller, references, "no such answer is kept", deps);
}

async function keptTogether(
  caller: Authenticated,
  references: readonly { readonly param: string; readonly id: string }[],
  missing: string,
  { answerOwners }: KeptAnswersDeps,
): Promise<string | null | Denial> {
  if (references.length === 0) return null;
  const ids = references.map(({ id }) => id);
  const owners = (await answerOwners?.find(caller.view.organisation.id, ids)) ?? [];
  let providerId: string | null = null;
  for (const [index, { param }] of references.entries()) {
    const owner = owners[index];
    if (!isOwn(owner, caller)) return refuse(param, missing);
    if (providerId !== null && providerId !== owner.providerId) return refuse(param, "these are kept in two accounts");
    ({ providerId } = owner);
  }
  return providerId;
}

/** The same of the containers that it names. */
export async function containersKeptAt(
  caller: Authenticated,
  ids: readonly string[],
  deps: KeptAnswersDeps,
): Promise<string | null | Denial> {
  if (ids.length > MAX_REFERENCES) return refuse("container", "too many containers");
  return keptTogether(
    caller,
    ids.map((id) => ({ param: "container", id })),
    "no such container is kept",
    deps,
  );
}

/** Whether the provider keeps the answer to this call, or something that the answer names. */
export function isKept({ request }: Held): boolean {
  if (isFormRequest(request)) return false;
  return request.kind === "responses" ? request.body.store !== false : mayBringContainer(request);
}

function addId(ids: Set<string>, value: unknown): void {
  if (isObject(value) && typeof value.id === "string" && ids.size < MAX_IDS) ids.add(value.id);
}

/** Of a whole answer: its own id and those of its items and its container. */
function idsOfAnswer(body: unknown): string[] {
  const ids = new Set<string>(containersOf(body));
  addId(ids, body);
  if (isObject(body) && Array.isArray(body.output)) for (const item of body.output as unknown[]) addId(ids, item);
  return [...ids];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Notes whose these are. Never rejects. */
export async function noteIds(held: Held, ids: readonly string[], { answerOwners }: KeptAnswersDeps): Promise<void> {
  const { key, view } = held.caller;
  const owner = { appId: key.appId, environment: key.environment, providerId: held.serving.target.provider.id };
  if (ids.length > 0) await answerOwners?.note(view.organisation.id, ids, owner);
}

/** Notes whose an answer is that was read again. Never rejects. */
export async function noteOwned(
  organisationId: string,
  answer: Json,
  owner: KeptAnswerOwner,
  { answerOwners }: KeptAnswersDeps,
): Promise<void> {
  await answerOwners?.note(organisationId, idsOfAnswer(answer), owner);
}

/** Notes whose a whole answer is, before the caller has it. */
export async function noteAnswer(held: Held, body: GatewayAnswer["body"], deps: KeptAnswersDeps): Promise<void> {
  const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : body;
  if (typeof text === "string") await noteIds(held, idsOfAnswer(parsed(text)), deps);
}

/** Events that bring an id for the first time. */
const BRINGS_ID = /"response\.(created|queued|output_item\.added|output_item\.done)"|"container"/u;

function idsOfEvent(data: string): string[] {
  const event = BRINGS_ID.test(data) ? parsed(data) : undefined;
  if (!isObject(event)) return [];
  const ids = new Set<string>(containersOf(event));
  if (event.type === "response.created" || event.type === "response.queued") addId(ids, event.response);
  else if (event.type === "response.output_item.added" || event.type === "response.output_item.done")
    addId(ids, event.item);
  return [...ids];
}

/** Reads along what passes. */
class Reader implements ByteStream, ByteSink {
  private readonly splitter = new SseSplitter();
  private sink: ByteSink | undefined;
  private isReading = true;

  constructor(
    private readonly source: ByteStream,
    private readonly onIds: (ids: readonly string[]) => void,
  ) {}

  start(sink: ByteSink): void {
    this.sink = sink;
    this.source.start(this);
  }

  resume(): void {
    this.source.resume();
  }

  cancel(): void {
    this.source.cancel();
  }

  write(bytes: Uint8Array): boolean {
    if (this.isReading) this.read(bytes);
    return this.sink?.write(bytes) ?? true;
  }

  end(): void {
    this.sink?.end();
  }

  fail(error: Error): void {
    this.sink?.fail(error);
  }

  private read(bytes: Uint8Array): void {
    try {
      for (const { data } of this.splitter.push(bytes)) this.onIds(idsOfEvent(data));
    } catch {
      // An event beyond all bounds: whoever passes it on will break off.
      this.isReading = false;
    }
  }
}

/** A stream as it comes; `onIds` is told the ids that it brings: first that of the response, then those of its items. */
export function idsAlong(source: ByteStream, onIds: (ids: readonly string[]) => void): ByteStream {
  return new Reader(source, (ids) => {
    if (ids.length > 0) onIds(ids);
  });
}

/** A stream of which it is noted whose its answer is, as soon as it says its ids. */
export function notingStream(held: Held, upstream: UpstreamResponse, deps: KeptAnswersDeps): UpstreamResponse {
  const body = idsAlong(upstream.body, (ids) => {
    void noteIds(held, ids, deps);
  });
  const { status, headers } = upstream;
  return { status, headers, body, bytes: () => upstream.bytes() };
}
