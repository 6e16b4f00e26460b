import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { outcomeLabel } from "@/components/requests/outcome-label";
import { REFUSAL_CODES } from "@/lib/contracts/requests";
import { denial, DENIAL_CODES } from "@/lib/domain/denial";
import type { BudgetFacts } from "@/lib/domain/denial";
import { CONSUMER_KINDS, METERS } from "@/lib/domain/snapshot";
import { refusalAnswer } from "@/lib/gateway/wire/error-response";
import { URL_REFUSALS } from "@/lib/net/check-url";
import { urlRefusalCode } from "@/lib/wiring/outbound";
import en from "./en.json";
import zh from "./zh-CN.json";

type Tree = { readonly [key: string]: string | Tree };

function flatten(tree: Tree, prefix = ""): Map<string, string> {
  const entries = Object.entries(tree).flatMap(([key, value]) =>
    typeof value === "string" ? [[prefix + key, value] as const] : [...flatten(value, `${prefix}${key}.`)],
  );
  return new Map(entries);
}

/** Names of the values and rich tags that a text takes. */
function holesOf(text: string): string[] {
  return [...text.matchAll(/\{(\w+)|<(\w+)>/gu)].map((match) => match[1] ?? match[2] ?? "").sort();
}

function sourceText(): string {
  return ["app", "components", "lib/console"]
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)))
    .filter((file) => /\.tsx?$/u.test(file) && !/\.test\.tsx?$/u.test(file))
    .map((file) => readFileSync(file, "utf8"))
    .join("\n");
}

const english = flatten(en);
const chinese = flatten(zh);

describe("messages", () => {
  it("say everything in both languages", () => {
    expect([...chinese.keys()]).toEqual([...english.keys()]);
    expect([...english, ...chinese].filter(([, text]) => text.trim() === "")).toEqual([]);
  });

  it("take the same values in both languages", () => {
    const differing = [...english].filter(
      ([key, text]) => holesOf(text).join() !== holesOf(chinese.get(key) ?? "").join(),
    );
    expect(differing).toEqual([]);
  });

  it("name every code under which the request log may keep a call, in both languages", () => {
    const facts = { budgetId: "b", consumerId: "c", consumerName: "C", periodKind: "month", periodId: "M2026-11" };
    const amounts = { limit: 1n, used: 1n, held: 0n, currency: "USD", resetsAtMs: 0 };
    const budgets: BudgetFacts[] = [...CONSUMER_KINDS, "key" as const, "session" as const].flatMap((scope) =>
      METERS.map((meter) => ({ ...facts, ...amounts, scope, meter })),
    );
    const context = { protocol: "openai", requestId: "r", language: "en", budgetStatus: 429, topUpUrl: null } as const;
    const written = [
      ...DENIAL_CODES.map((code) => refusalAnswer(denial(code), context, 0).code),
      ...budgets.map((budget) => refusalAnswer(denial("budget_exhausted", { budget }), context, 0).code),
      ...REFUSAL_CODES,
    ];
    const isNamed = (code: string): boolean => {
      const label = outcomeLabel(code);
      if (label === undefined) return false;
      const keys = [label.key, ...("scope" in label ? [`scopes.${label.scope}`] : [])];
      return keys.every((key) => english.has(`outcomes.${key}`) && chinese.has(`outcomes.${key}`));
    };
    // A refusal always names its budget.
    expect(written.filter((code) => code !== "BUDGET_EXHAUSTED" && !isNamed(code))).toEqual([]);
  });

  it("say why an address is refused, in both languages", () => {
    const texts = URL_REFUSALS.map((reason) => `fieldErrors.${urlRefusalCode(reason)}`);
    expect(texts.filter((key) => !english.has(key))).toEqual([]);
  });

  it("are all used: a key stands in the source whole, or below a prefix that the source completes", () => {
    const source = sourceText();
    const isUsed = (key: string): boolean => {
      const [, ...inside] = key.split(".");
      if (source.includes(`"${inside.join(".")}"`)) return true;
      return inside.some((_, depth) => depth > 0 && source.includes(`\`${inside.slice(0, depth).join(".")}.\${`));
    };
    // Pages and decisions are looked up by the name of the page or decision itself.
    const byName = (key: string): boolean => /^(nav|fieldErrors|decisions)\./u.test(key);
    expect([...english.keys()].filter((key) => !byName(key) && !isUsed(key))).toEqual([]);
  });
});
