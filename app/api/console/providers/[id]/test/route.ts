import { nothing } from "@/lib/contracts/common";
import { providerTestResult } from "@/lib/contracts/models";
import { runProviderTest } from "@/lib/console/providers";
import { writeRoute } from "@/lib/console/route";

export const POST = writeRoute({ action: "model.write", input: nothing, answer: providerTestResult }, runProviderTest);
