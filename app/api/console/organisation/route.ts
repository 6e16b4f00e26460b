import { firstOrganisationInput, organisationFounded } from "@/lib/contracts/organisations";
import { personWriteRoute } from "@/lib/console/route";
import { writeFirstOrganisation } from "@/lib/console/writes";

export const POST = personWriteRoute(
  { input: firstOrganisationInput, answer: organisationFounded },
  writeFirstOrganisation,
);
