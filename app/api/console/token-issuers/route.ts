import { writeResult } from "@/lib/contracts/common";
import { saveTokenIssuerInput, tokenIssuerList } from "@/lib/contracts/token-issuers";
import { readTokenIssuers, writeTokenIssuer } from "@/lib/console/token-issuers";
import { noQuery, readRoute, writeRoute } from "@/lib/console/route";

export const GET = readRoute({ action: "organisation.update", query: noQuery, answer: tokenIssuerList }, ({ who }) =>
  readTokenIssuers(who),
);

export const POST = writeRoute(
  { action: "organisation.update", input: saveTokenIssuerInput, answer: writeResult },
  writeTokenIssuer,
);
