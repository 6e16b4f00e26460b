import { describe, expect, it } from "vitest";
import { LADDER_TEMPLATES } from "@/lib/domain/ladder-templates";
import { policyDocumentSchema } from "@/lib/domain/policy";
import { diffPolicies } from "./policy-diff";
import { toDocument } from "./policy-document";
import { draftOf } from "./policy-draft";

/** One of everything, with things that the form has no field for. */
const full = policyDocumentSchema.parse({
  models: { allow: ["gpt-*"], deny: ["gpt-5-pro"] },
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
    ["downgrade", "gpt-4o gpt-4o-mini", "pair_malformed"],
    ["deadlineSeconds", "0", "number_out_of_range"],
  ])("%s of %s is refused at its field", (field, text, code) => {
    const checked = toDocument({ ...draftOf(full), [field]: text }, full);
    expect(checked.ok ? {} : checked.errors).toEqual({ [field]: code });
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
});
