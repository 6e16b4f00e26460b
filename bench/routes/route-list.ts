/**
 * The routes as the gateway's own table has them, read from its source: what is added there is in this list at once, and
 * a bench without a sample for it fails.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { storedPath } from "@/lib/gateway/stored/stored-path";
import { governedRoute } from "@/lib/gateway/wire/routes/governed-routes";

const FOLDER = join(import.meta.dirname, "..", "..", "lib", "gateway", "wire", "routes");

function sourceOf(file: string): ts.SourceFile {
  const path = join(FOLDER, file);
  return ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
}

/** Names of the members of `const ROUTES = { … }`. */
function tablePaths(): string[] {
  const paths: string[] = [];
  const visit = (node: ts.Node): void => {
    const isTable = ts.isVariableDeclaration(node) && node.name.getText() === "ROUTES";
    if (isTable && node.initializer && ts.isObjectLiteralExpression(node.initializer)) {
      for (const { name } of node.initializer.properties) {
        if (name && (ts.isStringLiteral(name) || ts.isIdentifier(name))) paths.push(name.text);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(sourceOf("route-table.ts"));
  if (paths.length === 0) throw new Error("route-table.ts has no table ROUTES any more");
  return paths;
}

/** What may stand behind the colon of Gemini's paths: the type of `GeminiPath.action`. */
function geminiActions(): string[] {
  const actions: string[] = [];
  const visit = (node: ts.Node): void => {
    if (
      ts.isPropertySignature(node) &&
      node.name.getText() === "action" &&
      node.type &&
      ts.isUnionTypeNode(node.type)
    ) {
      for (const type of node.type.types) {
        if (ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal)) actions.push(type.literal.text);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(sourceOf("gemini-generate.ts"));
  if (actions.length === 0) throw new Error("gemini-generate.ts names no actions any more");
  return actions;
}

export interface RouteList {
  /** Names as in the ledger. */
  readonly governed: readonly string[];
  /** Paths of the table that are read but not served. */
  readonly unserved: readonly string[];
}

export const PASSTHROUGH = "passthrough";
/** What outlives a call has paths of its own, beside the table. */
const STORED = ["files", "batches"].filter((path) => storedPath(path, "POST") !== undefined);

/** Throws where the table cannot be found: it must not become a bench of nothing. */
export function readRouteList(): RouteList {
  const paths = tablePaths();
  const isServed = (path: string): boolean => governedRoute(path, "") !== undefined;
  const gemini = geminiActions().map((action) => `models/${action}`);
  return {
    governed: [...paths.filter(isServed), ...gemini, PASSTHROUGH, ...STORED],
    unserved: paths.filter((path) => !isServed(path) && !STORED.includes(path)),
  };
}
