import { writeResult } from "@/lib/contracts/common";
import { upsertDeploymentInput } from "@/lib/contracts/models";
import { writeDeployment } from "@/lib/console/providers";
import { writeRoute } from "@/lib/console/route";

export const POST = writeRoute(
  { action: "model.write", input: upsertDeploymentInput, answer: writeResult },
  writeDeployment,
);
