/**
 * A batch file before it goes anywhere: every line is a call that this key may make, all of one model and route, as the vendor
 * wants it ("each input file can only include requests to a single model", OpenAI guide: batch). Model names and caps are
 * written into the copy that is sent, which is never whole in memory.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import type { BatchInput } from "@/lib/domain/stored-object";
import type { Classified } from "../exchange";
import { refusedContent } from "../hold";
import type { ServingFacts, Target } from "../serving";
import { isServing, servingOf } from "../serving";
import { capOf } from "../stages/estimate";
import { keptAt } from "../stages/references";
import { patchJson } from "../wire/json-scan";
import type { BatchLine } from "../wire/routes/batch-file";
import { batchLines, ofLine, withBody } from "../wire/routes/batch-file";
import { FileStore } from "../wire/routes/file-store";
import { jsonPatches } from "../wire/routes/upstream-patches";
import { BatchSums } from "./batch-bound";
import type { StoredServing } from "./stored-call";

/** As OpenAI's API reference bounds them (batch: input_file_id). */
export const MAX_LINES = 50_000;
export const MAX_FILE_BYTES = 200 * 1024 * 1024;
const MEMORY_BYTES = 64 * 1024;

export interface CheckedFile {
  readonly input: BatchInput;
  readonly target: Target;
  /** Kinds of models that the lines' route takes. */
  readonly kinds: readonly string[];
  /** As it is sent. */
  readonly file: FileStore;
}

/** Where the lines of a file are served: decided by its first one. */
interface Place {
  readonly route: BatchLine["route"];
  readonly model: string;
  readonly serving: ServingFacts;
}

function keptElsewhere(): Denial {
  return denial("invalid_request", { detail: "what this refers to is kept where the file's model is not served" });
}

function placeOf(
  { request, route }: BatchLine,
  account: string | null,
  caller: Classified,
  nowMs: number,
  regions: readonly string[] | null,
  { adapterOf }: StoredServing,
): Place | Denial {
  const { model } = request;
  const shape = { kinds: route.kinds, trafficClass: caller.trafficClass, route: "batches", regions };
  const serving = servingOf(caller.view, caller.chain, model, shape, nowMs, adapterOf);
  if (!isServing(serving)) return serving;
  const target = [...serving.targets]
    .sort((left, right) => left.priority - right.priority)
    .find(
      ({ adapter, provider, deployment }) =>
        (account === null || provider.id === account) &&
        adapter.pathOf(provider, route.route, deployment.upstreamModel) !== undefined,
    );
  if (!target && account !== null) return keptElsewhere();
  if (!target)
    return denial("invalid_request", { param: "url", detail: "no provider of this model serves this route" });
  return { route, model, serving: { ...serving, target } };
}

/** What is wrong with a line beyond its form, where the file's place is known. `account`: where what it refers to is kept. */
function refusedLine(
  { request, route }: BatchLine,
  account: string | null,
  place: Place,
  deps: StoredServing,
): Denial | undefined {
  if (request.model !== place.model) {
    return denial("invalid_request", { param: "model", detail: "all lines of a file must name the same model" });
  }
  if (route.route !== place.route.route) {
    return denial("invalid_request", { param: "url", detail: "all lines of a file must have the same url" });
  }
  if (request.extras.isBackground) {
    return denial("invalid_request", { param: "background", detail: "background must be false in a batch" });
  }
  if (request.extras.toolFees.length > 0) {
    return denial("invalid_request", {
      param: "tools",
      detail: "tools that the provider runs are not served in batches",
    });
  }
  if (account !== null && account !== place.serving.target.provider.id) {
    return keptElsewhere();
  }
  return refusedContent(request, deps);
}

/** The line as it is sent: the provider's name of the model, and a cap where the caller stated none. */
function sentLine(line: BatchLine, { serving }: Place, cap: number): string {
  const { request } = line;
  const patches = jsonPatches(request, {
    upstreamModel: serving.target.deployment.upstreamModel,
    writtenCap: request.outputCap === null ? cap : null,
    providerKind: serving.target.adapter.vendor,
  });
  return Object.keys(patches).length === 0 ? line.text : withBody(line, patchJson(request.text, request.scan, patches));
}

class FileCheck {
  private place: Place | undefined;
  private readonly sums = new BatchSums();
  private readonly seen = new Set<string>();
  private readonly encoder = new TextEncoder();

  constructor(
    private readonly caller: Classified,
    private readonly find: (line: BatchLine, account: string | null) => Place | Denial,
    private readonly file: FileStore,
    private readonly deps: StoredServing,
  ) {}

  /** Takes a line, or says what is wrong with it. */
  async take(line: BatchLine): Promise<Denial | undefined> {
    const { customId, request } = line;
    if (this.seen.has(customId)) {
      return denial("invalid_request", { param: "custom_id", detail: "custom_id must be unique in the file" });
    }
    this.seen.add(customId);
    if (this.seen.size > MAX_LINES)
      return denial("request_too_large", { detail: `at most ${String(MAX_LINES)} lines` });
    const account = await keptAt(this.caller, request, this.deps);
    if (isDenial(account)) return account;
    if (!this.place) {
      const found = this.find(line, account);
      if (isDenial(found)) return found;
      this.place = found;
    }
    const { place } = this;
    const refused = refusedLine(line, account, place, this.deps);
    if (refused) return refused;
    const { model } = place.serving;
    const cap = capOf(request, model, this.caller.chain.policy.outputCapTokens);
    this.sums.add(request, model, cap);
    await this.file.add(this.encoder.encode(`${sentLine(line, place, cap)}\n`));
    return undefined;
  }

  end(): CheckedFile | Denial {
    const { place, file, sums } = this;
    if (!place) return denial("invalid_request", { param: "file", detail: "the file has no lines" });
    const { target } = place.serving;
    const { upstreamModel } = target.deployment;
    const input = sums.total({ model: place.model, upstreamModel, route: place.route.route });
    return { input, target, kinds: place.route.kinds, file };
  }
}

/** The file as it may be sent, in a store of its own that is the caller's to discard; or which line is wrong, and why. */
export async function checkBatchFile(
  chunks: AsyncIterable<Uint8Array>,
  caller: Classified,
  regions: readonly string[] | null,
  deps: StoredServing,
): Promise<CheckedFile | Denial> {
  const nowMs = deps.clock.nowMs();
  const file = new FileStore(MEMORY_BYTES, deps.openSpool);
  const find = (line: BatchLine, account: string | null) => placeOf(line, account, caller, nowMs, regions, deps);
  const check = new FileCheck(caller, find, file, deps);
  let checked: CheckedFile | Denial | undefined;
  try {
    for await (const read of batchLines(chunks)) {
      checked = "line" in read ? await check.take(read.line) : read;
      if (checked && "line" in read) checked = ofLine(checked, read.number);
      if (checked) return checked;
    }
    checked = check.end();
    return checked;
  } finally {
    if (!checked || isDenial(checked)) await file.discard();
  }
}
