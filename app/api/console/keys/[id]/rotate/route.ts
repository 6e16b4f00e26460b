import { apiKeySecretResult, rotateApiKeyInput } from "@/lib/contracts/keys";
import { writeRoute } from "@/lib/console/route";
import { writeRotation } from "@/lib/console/writes";

export const POST = writeRoute(
  { action: "key.write", input: rotateApiKeyInput, answer: apiKeySecretResult },
  writeRotation,
);
