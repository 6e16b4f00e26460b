import { removeSampleInput, sampleRemoved } from "@/lib/contracts/session";
import { writeRoute } from "@/lib/console/route";
import { writeSampleRemoval } from "@/lib/console/writes";

export const DELETE = writeRoute(
  { action: "sample.remove", input: removeSampleInput, answer: sampleRemoved },
  writeSampleRemoval,
);
