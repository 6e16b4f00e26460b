import { writeResult } from "@/lib/contracts/common";
import { upsertModelInput } from "@/lib/contracts/models";
import { writeModel } from "@/lib/console/providers";
import { writeRoute } from "@/lib/console/route";

export const POST = writeRoute({ action: "model.write", input: upsertModelInput, answer: writeResult }, writeModel);
