import { nothing, writeResult } from "@/lib/contracts/common";
import { writeIssuerRemoval } from "@/lib/console/token-issuers";
import { writeRoute } from "@/lib/console/route";

export const DELETE = writeRoute(
  { action: "organisation.update", input: nothing, answer: writeResult },
  writeIssuerRemoval,
);
