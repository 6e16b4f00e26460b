import { apiKeyList, apiKeyListQuery, apiKeySecretResult, createApiKeyInput } from "@/lib/contracts/keys";
import { readApiKeys } from "@/lib/console/keys";
import { readRoute, writeRoute } from "@/lib/console/route";
import { services } from "@/lib/console/services";
import { writeNewApiKey } from "@/lib/console/writes";

export const GET = readRoute({ action: "key.read", query: apiKeyListQuery, answer: apiKeyList }, ({ who, query }) =>
  readApiKeys(services(), who, query),
);

export const POST = writeRoute(
  { action: "key.write", input: createApiKeyInput, answer: apiKeySecretResult },
  writeNewApiKey,
);
