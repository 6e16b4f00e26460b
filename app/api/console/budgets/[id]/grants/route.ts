import { createGrantInput } from "@/lib/contracts/budgets";
import { writeResult } from "@/lib/contracts/common";
import { writeRoute } from "@/lib/console/route";
import { writeGrant } from "@/lib/console/writes";

export const POST = writeRoute({ action: "grant.write", input: createGrantInput, answer: writeResult }, writeGrant);
