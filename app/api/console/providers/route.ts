import { writeResult } from "@/lib/contracts/common";
import { providerList, upsertProviderInput } from "@/lib/contracts/models";
import { readProviders, writeProvider } from "@/lib/console/providers";
import { noQuery, readRoute, writeRoute } from "@/lib/console/route";

export const GET = readRoute({ action: "model.read", query: noQuery, answer: providerList }, ({ who }) =>
  readProviders(who),
);

export const POST = writeRoute(
  { action: "model.write", input: upsertProviderInput, answer: writeResult },
  writeProvider,
);
