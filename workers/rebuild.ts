/** `npm run rebuild -- <organisation>`: counters of one organisation anew, from the ledger and its open reservations. */
import { workerEnv } from "@/lib/config/env";
import { rebuildOrganisation } from "@/lib/control/recovery";
import { createWorkerServices } from "@/lib/wiring/worker";

async function main(organisationId: string | undefined): Promise<number> {
  if (organisationId === undefined) {
    console.error("Usage: npm run rebuild -- <organisation>");
    return 2;
  }
  const services = createWorkerServices(workerEnv());
  try {
    if (!(await services.listOrganisations()).includes(organisationId)) {
      console.error(`There is no organisation ${organisationId}.`);
      return 1;
    }
    await services.untilConnected(10_000);
    await rebuildOrganisation(services.deps, organisationId);
    console.log(`Counters of ${organisationId} equal its ledger and open reservations.`);
    return 0;
  } finally {
    await services.close();
  }
}

main(process.argv[2]).then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : "the rebuild failed");
    process.exit(1);
  },
);
