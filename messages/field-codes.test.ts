/** Every code that a form may be refused with has its words: codes are found in the source of what refuses. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { REFUSAL_CODES } from "@/lib/contracts/requests";
import { outcomeLabel } from "@/components/requests/outcome-label";
import { DEFERRED_ENDS } from "@/lib/domain/deferred-call";
import { WEBHOOK_FAILURES } from "@/lib/domain/webhook";
import en from "./en.json";
import zh from "./zh-CN.json";

/** What a schema says of a value, and what a use case says of a field. */
const CODE = /^[a-z]+(?:_[a-z]+)*$/u;
/** Methods of schemas whose last text argument is what is said where they fail. */
const CHECKS = ["min", "max", "length", "regex", "refine", "int", "positive", "nonnegative", "number", "email", "url"];
const REFUSERS = ["invalidFields"];

function sourcesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts") && !name.includes("generated"))
    .map((name) => join(folder, name));
}

function textsOf(node: ts.Node): string[] {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return [node.text];
  if (ts.isConditionalExpression(node)) return [...textsOf(node.whenTrue), ...textsOf(node.whenFalse)];
  return [];
}

function propertyTexts(node: ts.Node, wanted: (name: string) => boolean): string[] {
  if (!ts.isObjectLiteralExpression(node)) return [];
  return node.properties.flatMap((property) =>
    ts.isPropertyAssignment(property) && wanted(property.name.getText().replaceAll(/["']/gu, ""))
      ? textsOf(property.initializer)
      : [],
  );
}

function codesOfCall(call: ts.CallExpression): string[] {
  const name = ts.isPropertyAccessExpression(call.expression) ? call.expression.name.text : call.expression.getText();
  const last = call.arguments.at(-1);
  if (last === undefined) return [];
  if (REFUSERS.includes(name)) return propertyTexts(last, () => true);
  if (name === "addIssue") return propertyTexts(last, (property) => property === "message");
  if (!CHECKS.includes(name) || call.arguments.length === (name === "int" ? 0 : -1)) return [];
  return [...textsOf(last), ...propertyTexts(last, (property) => property === "message")];
}

function codesIn(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) found.push(...codesOfCall(node));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found.filter((code) => CODE.test(code));
}

const SCHEMAS = ["policy.ts", "call-settings.ts", "price-rates.ts"].map((name) => join("lib/domain", name));
const codes = new Set([...sourcesOf("lib/contracts"), ...sourcesOf("lib/control"), ...SCHEMAS].flatMap(codesIn));

describe("codes of fields", () => {
  it("are found where they are written", () => {
    const known = ["required", "webhook_secret_missing", "host_malformed", "rungs_not_rising", "price_suspicious"];
    expect(known.filter((code) => !codes.has(code))).toEqual([]);
  });

  it("have words in both languages", () => {
    expect([...codes].filter((code) => !(code in en.fieldErrors)).sort()).toEqual([]);
    expect([...codes].filter((code) => !(code in zh.fieldErrors)).sort()).toEqual([]);
  });
});

describe("codes of ends", () => {
  it("of deferred calls and of webhooks have words in both languages", () => {
    for (const words of [en, zh]) {
      expect(DEFERRED_ENDS.filter((code) => !(code in words.deferred.ends))).toEqual([]);
      expect(WEBHOOK_FAILURES.filter((code) => !(code in words.webhooks.failure))).toEqual([]);
    }
    expect(REFUSAL_CODES.filter((code) => outcomeLabel(code) === undefined)).toEqual([]);
  });
});
