import { undoInput, writeResult } from "@/lib/contracts/common";
import { writeRoute } from "@/lib/console/route";
import { writeUndo } from "@/lib/console/writes";

// Whoever may read budgets may ask; the use case wants the permission that the change itself needed.
export const POST = writeRoute({ action: "budget.read", input: undoInput, answer: writeResult }, writeUndo);
