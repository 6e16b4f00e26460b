import { organisationReady } from "@/lib/contracts/organisations";
import { noQuery, readRoute } from "@/lib/console/route";
import { services } from "@/lib/console/services";

export const GET = readRoute({ action: "usage.read", query: noQuery, answer: organisationReady }, async ({ who }) => ({
  ready: await services().isUnfenced(who.organisation.id),
}));
