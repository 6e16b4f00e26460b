import { nothing, writeResult } from "@/lib/contracts/common";
import { writeRoute } from "@/lib/console/route";
import { writeDeferredCancel } from "@/lib/console/writes";

export const POST = writeRoute({ action: "key.write", input: nothing, answer: writeResult }, writeDeferredCancel);
