import { nothing, writeResult } from "@/lib/contracts/common";
import { writeImportUndo } from "@/lib/console/price-imports";
import { writeRoute } from "@/lib/console/route";

export const POST = writeRoute({ action: "price.write", input: nothing, answer: writeResult }, writeImportUndo);
