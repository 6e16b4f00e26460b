/** What an API key may be limited to. The routes behind each name are `lib/identity/scopes.ts`. */
export const KEY_SCOPES = [
  "chat",
  "responses",
  "embeddings",
  "images",
  "audio",
  "moderations",
  "rerank",
  "files",
  "batches",
  "models",
  "passthrough",
] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];
