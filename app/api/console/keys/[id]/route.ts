import { writeResult } from "@/lib/contracts/common";
import { revokeApiKeyInput } from "@/lib/contracts/keys";
import { writeRoute } from "@/lib/console/route";
import { writeRevocation } from "@/lib/console/writes";

export const DELETE = writeRoute(
  { action: "key.write", input: revokeApiKeyInput, answer: writeResult },
  writeRevocation,
);
