import { overview } from "@/lib/contracts/overview";
import { readOverview } from "@/lib/console/overview";
import { noQuery, readRoute } from "@/lib/console/route";
import { services } from "@/lib/console/services";

export const GET = readRoute({ action: "usage.read", query: noQuery, answer: overview }, ({ who }) =>
  readOverview(services(), who),
);
