import { describe, expect, it } from "vitest";
import { LADDER_TEMPLATES, MONTHLY_DEPARTMENT } from "@/lib/domain/ladder-templates";
import { policyDocumentSchema } from "@/lib/domain/policy";
import { diffPolicies } from "./policy-diff";
import { toDocument } from "./policy-document";
import { draftOf } from "./policy-draft";

/** One of everything, with things that the form has no field for. */
const full = policyDocumentSchema.parse({
  models: { allow: ["gpt-*"], deny: ["gpt-5-pro", { pattern: "gpt-4*", classes: ["offline", "marketing"] }] },
  ladders: LADDER_TEMPLATES,
  downgrade: { "gpt-*": "gpt-4o-mini" },
  fallbacks: { "gpt-4o": ["gpt-4o-mini", "qwen-max"] },
  regions: ["eu", "cn-beijing"],
  outputCapTokens: 2048,
  reserve: { mode: "incremental", sliceTokens: 2048, marginTokens: 512 },
  session: { costNanos: "1500000000", requests: 40, idleSeconds: 900, isRequired: true },
  clientGone: "drain",
  unknownOutcome: "input",
  staticText: { en: "Later, please.", "zh-CN": "请稍后。", "fr-FR": "Plus tard." },
  fallbackPrice: { currency: "USD", rates: { inputPerToken: "0.00001", perRequest: "0.5" } },
  answerKeepSeconds: 3600,
  retryWindowSeconds: 30,
  deferral: { deadlineSeconds: 7200, keepSeconds: 3600 },
});

describe("the policy form", () => {
  it("gives back the document it was opened with, whatever stands in it", () => {
    expect(toDocument(draftOf(full), full)).toEqual({ ok: true, document: full });
    expect(toDocument(draftOf({}), {})).toEqual({ ok: true, document: {} });
  });

  it("reads the classes behind a model, and says so where none is named", () => {
    const lists = { ...draftOf({}), deny: "gpt-* [offline，marketing]\nqwen-max", allow: "*\n* [core]" };
    expect(toDocument(lists, {})).toEqual({
      ok: true,
      document: {
        models: {
          allow: ["*", { pattern: "*", classes: ["core"] }],
          deny: [{ pattern: "gpt-*", classes: ["offline", "marketing"] }, "qwen-max"],
        },
      },
    });
    expect(toDocument({ ...draftOf({}), deny: "gpt-* [ ]" }, {})).toMatchObject({
      ok: false,
      errors: { deny: "invalid" },
    });
  });

  it("leaves out what is emptied, and keeps what it has no field for", () => {
    const draft = {
      ...draftOf(full),
      allow: "",
      deny: "",
      sessionCost: "",
      defers: false,
      staticEn: "",
      reserveMode: "",
    };
    const checked = toDocument({ ...draft, reserveMode: "" }, full);
    const { models: _models, deferral: _deferral, reserve: _reserve, ...rest } = full;
    expect(checked).toEqual({
      ok: true,
      document: {
        ...rest,
        session: { requests: 40, idleSeconds: 900, isRequired: true },
        staticText: { "zh-CN": "请稍后。", "fr-FR": "Plus tard." },
      },
    });
  });

  it.each([
    ["answerKeepSeconds", "700000", "number_out_of_range"],
    ["retryWindowSeconds", "601", "number_out_of_range"],
    ["retryWindowSeconds", "half", "number_malformed"],
    ["marginTokens", "2000", "margin_above_half"],
    ["sessionCost", "1.5.1", "amount_malformed"],
    ["fallbackCurrency", "dollars", "currency_malformed"],
    ["fallbackInput", "cheap", "amount_malformed"],
    ["fallbacks", "gpt-4o gpt-4o-mini", "pair_malformed"],
    ["deadlineSeconds", "0", "number_out_of_range"],
  ])("%s of %s is refused at its field", (field, text, code) => {
    const checked = toDocument({ ...draftOf(full), [field]: text }, full);
    expect(checked.ok ? {} : checked.errors).toEqual({ [field]: code });
  });

  it("asks for both sides of a downgrade, and for each asked model once", () => {
    const pair = { asked: "gpt-4o", served: "gpt-4o-mini" };
    const checked = toDocument(
      { ...draftOf(full), downgrade: [pair, pair, { asked: "", served: "" }, { asked: "", served: "x" }] },
      full,
    );
    expect(checked.ok ? {} : checked.errors).toEqual({ "downgrade/1": "value_twice", "downgrade/3": "required" });
  });

  it("asks a session for at least one limit", () => {
    const checked = toDocument({ ...draftOf({}), sessionIdle: "60" }, {});
    expect(checked.ok ? {} : checked.errors).toEqual({ sessionCost: "session_empty" });
  });
});

describe("the difference of two policies", () => {
  it("is told leaf by leaf", () => {
    const after = policyDocumentSchema.parse({ ...full, retryWindowSeconds: 60, regions: ["eu"], session: undefined });
    expect(diffPolicies(full, after)).toEqual([
      { setting: "regions", path: "", before: "eu, cn-beijing", after: "eu" },
      { setting: "session", path: "costNanos", before: "1500000000", after: null },
      { setting: "session", path: "requests", before: "40", after: null },
      { setting: "session", path: "idleSeconds", before: "900", after: null },
      { setting: "session", path: "isRequired", before: "true", after: null },
      { setting: "retryWindowSeconds", path: "", before: "30", after: "60" },
    ]);
    expect(diffPolicies(full, full)).toEqual([]);
  });

  it("knows a rung by its mark: one put between others is one change, and those above it are none", () => {
    const { rungs, overflow } = MONTHLY_DEPARTMENT;
    const before = { ladders: { monthly: MONTHLY_DEPARTMENT } };
    const between = {
      atBasisPoints: 9500,
      name: "slow",
      actions: { "*": { kind: "cache_only", cacheThreshold: 0.9 } },
    } as const;
    const [normal, ...others] = rungs;
    if (normal === undefined) throw new Error("the template has rungs");
    const after = {
      ladders: { monthly: { overflow, rungs: [normal, ...others.slice(0, 2), between, ...others.slice(2)] } },
    };
    expect(diffPolicies(before, after).map(({ path, before: was, after: is }) => [path, was, is])).toEqual([
      ["monthly.95%.name", null, "slow"],
      ["monthly.95%.*", null, "cache_only 0.9"],
    ]);
  });
});
