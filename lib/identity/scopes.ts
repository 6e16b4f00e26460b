/**
 * What a key or token may be used for, by route. Scopes only narrow: none of them administers anything, and what tells a
 * caller about itself (`me`, its limits, its deferred calls) needs none. Pure.
 */
import type { KeyScope } from "@/lib/domain/key-scopes";
import { KEY_SCOPES } from "@/lib/domain/key-scopes";

/** First segments of a route, longest first where one begins with another. */
const ROUTE_SCOPES: readonly (readonly [prefix: string, scope: KeyScope])[] = [
  ["chat/completions", "chat"],
  ["completions", "chat"],
  ["messages/batches", "batches"],
  ["messages", "chat"],
  ["responses", "responses"],
  ["embeddings", "embeddings"],
  ["images", "images"],
  ["audio", "audio"],
  ["moderations", "moderations"],
  ["rerank", "rerank"],
  ["files", "files"],
  ["uploads", "files"],
  ["batches", "batches"],
  ["models", "models"],
];

/** Gemini puts the verb behind the model: `models/gemini-x:generateContent`. */
const GEMINI_VERBS: Readonly<Record<string, KeyScope>> = {
  generateContent: "chat",
  streamGenerateContent: "chat",
  countTokens: "chat",
  embedContent: "embeddings",
  batchEmbedContents: "embeddings",
  batchGenerateContent: "batches",
};

/** Open to every caller that is known. */
const ABOUT_ONESELF = new Set(["me", "deferred"]);

/** The scope a route wants; null where it wants none. `route` is the path behind `/v1/`, without query. */
export function scopeOfRoute(route: string): KeyScope | null {
  if (ABOUT_ONESELF.has(route.split("/", 1)[0] ?? "")) return null;
  const verb = /^models\/[^/]+:([A-Za-z]+)$/u.exec(route)?.[1];
  if (verb !== undefined) return Object.hasOwn(GEMINI_VERBS, verb) ? (GEMINI_VERBS[verb] ?? null) : "passthrough";
  const found = ROUTE_SCOPES.find(([prefix]) => route === prefix || route.startsWith(`${prefix}/`));
  return found?.[1] ?? "passthrough";
}

/**
 * Whether scopes open a route. An empty list of a key means that it was made without limits; null of a token the same. A list
 * that names nothing we know (another system's scopes) opens nothing.
 */
export function mayUseRoute(scopes: readonly string[] | null, route: string, isEmptyUnlimited: boolean): boolean {
  if (scopes === null || (isEmptyUnlimited && scopes.length === 0)) return true;
  const wanted = scopeOfRoute(route);
  return wanted === null || scopes.includes(wanted);
}

/** Scopes of a new key that do not exist: a mistyped one would silently close a route, or an unread one open all. */
export function unknownScopes(scopes: readonly string[]): string[] {
  const known: readonly string[] = KEY_SCOPES;
  return scopes.filter((scope) => !known.includes(scope));
}
