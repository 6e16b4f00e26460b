/**
 * Fills an empty installation with the sample company: `tsx prisma/seed.ts`. Idempotent: a finished sample is left alone, as
 * is an installation with a real company; a sample that a dying seed left unfinished is removed and made anew, and two
 * seeds at once take turns. Prints one JSON line:
 * the sign-in and a key the first time, `{"alreadySeeded":true}` after.
 */
import process from "node:process";
import { ensureGeneration } from "@/lib/control/recovery";
import type { ControlDeps } from "@/lib/control/deps";
import { removeSampleData } from "@/lib/control/sample-data";
import { addSandboxModels, moveSandbox } from "@/lib/control/sandbox-models";
import { publishAll } from "@/lib/control/snapshots";
import { closeDb, getDb } from "@/lib/db/client";
import { withAdvisoryLock } from "@/lib/db/advisory-lock";
import { systemClock } from "@/lib/domain/clock";
import { newId } from "@/lib/domain/ids";
import { insertAuditEntry, listAuditEntries } from "@/lib/db/audit-log";
import { listOrganisations } from "@/lib/db/organisations";
import { listSampleOrganisationIds } from "@/lib/db/sample-data";
import { hasUsers } from "@/lib/db/users";
import { connectHot } from "@/lib/redis/client";
import type { HotConnection } from "@/lib/redis/client";
import { createLogger } from "@/lib/telemetry/logger";
import { outboundAllowList, parseOutboundEnv } from "@/lib/config/env";
import { createOutbound } from "@/lib/wiring/outbound";
import { buildCompany, seedPrincipal } from "./seed/build-company";
import type { SeededCompany } from "./seed/build-company";
import { addVendors } from "./seed/build-models";
import { HISTORY_MS, writeHistory } from "./seed/history";
import { bookHistory, raiseAlerts } from "./seed/book-history";
import { addRecentChanges } from "./seed/recent-changes";

const SEED_LOCK = 7_270_935;
const FINISHED = "sample.seeded";
const DEFAULT_SANDBOX_URL = "http://127.0.0.1:4010";

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "") throw new Error(`${name} is missing`);
  return value;
}

async function isFinished(deps: ControlDeps, organisationId: string): Promise<boolean> {
  const filter = { objectType: "organisation", objectId: organisationId, take: 100 };
  const entries = await listAuditEntries(deps.db.prisma, organisationId, filter);
  return entries.some((entry) => entry.action === FINISHED);
}

async function seed(deps: ControlDeps, store: HotConnection): Promise<SeededCompany | null> {
  const sandboxUrl = process.env["SANDBOX_URL"] ?? DEFAULT_SANDBOX_URL;
  for (const { id } of await listOrganisations(deps.db.prisma)) {
    await moveSandbox(deps, seedPrincipal, { organisationId: id, sandboxUrl });
  }
  const ids = await listSampleOrganisationIds(deps.db.prisma);
  for (const id of ids) {
    if (!(await isFinished(deps, id))) continue;
    await publishAll(deps, id, { force: false });
    return null;
  }
  if (ids.length > 0) await removeSampleData(deps, seedPrincipal);
  // A company that is not a sample works here, or somebody took the sample away and is about to found one: made-up money
  // has no place beside it.
  else if ((await listOrganisations(deps.db.prisma)).length > 0 || (await hasUsers(deps.db.prisma))) return null;
  // Many small changes, one push at the end.
  const quiet: ControlDeps = { ...deps, publishes: false };
  const toMs = deps.clock.nowMs() - 60_000;
  const fromMs = toMs - HISTORY_MS;
  const company = await buildCompany(quiet);
  const { organisationId, apps, budgets } = company;
  const pricedFromMs = fromMs - 1;
  const sandbox = { organisationId, sandboxUrl, pricedFromMs };
  const { providerId, models } = await addSandboxModels(quiet, seedPrincipal, sandbox);
  await addVendors(quiet, organisationId, process.env, pricedFromMs);
  const calendar = { timeZone: "Asia/Shanghai", fiscalYearStartMonth: 1, weekStartsOn: 1 as const };
  const plan = { organisationId, providerId, calendar, apps, models, budgets, fromMs, toMs };
  const history = writeHistory(plan);
  await bookHistory(deps.db.pool, organisationId, fromMs, history);
  await raiseAlerts(deps.db.pool, plan, deps.clock.nowMs());
  await addRecentChanges(quiet, organisationId, budgets);
  await publishAll(deps, organisationId, { force: true });
  await liftFence(deps, store, organisationId);
  await markFinished(deps, organisationId);
  return company;
}

/** Counters from the ledger just written; no gateway can have held anything of a company that did not exist. */
async function liftFence(deps: ControlDeps, store: HotConnection, organisationId: string): Promise<void> {
  const publish = async (id: string, options: { readonly force: boolean }): Promise<void> => {
    await publishAll(deps, id, options);
  };
  const log = createLogger({ name: "seed", level: "silent" });
  await ensureGeneration({ db: deps.db, store, clock: deps.clock, log, publish, graceMs: 0 }, organisationId);
}

async function markFinished(deps: ControlDeps, organisationId: string): Promise<void> {
  const now = new Date(deps.clock.nowMs());
  await insertAuditEntry(deps.db.prisma, {
    id: newId("aud", now.getTime()),
    organisationId,
    actorId: null,
    actorLabel: seedPrincipal.label,
    action: FINISHED,
    objectType: "organisation",
    objectId: organisationId,
    before: null,
    after: null,
    requestId: null,
    effectiveAt: now,
    createdAt: now,
  });
}

async function main(): Promise<void> {
  const databaseUrl = setting("DATABASE_URL");
  const store = connectHot(setting("REDIS_URL"), { commandTimeoutMs: 15_000, name: "spillway-seed" });
  const deps: ControlDeps = {
    db: getDb(databaseUrl),
    redis: store.redis,
    clock: systemClock,
    masterKey: Buffer.from(setting("SPILLWAY_MASTER_KEY"), "base64"),
    pepper: Buffer.from(setting("SPILLWAY_KEY_PEPPER"), "base64"),
    outbound: createOutbound(outboundAllowList(parseOutboundEnv({ SANDBOX_URL: DEFAULT_SANDBOX_URL, ...process.env }))),
  };
  try {
    await new Promise<void>((resolve) => store.onRunId(() => resolve()));
    const made = process.argv.includes("--remove")
      ? await removeSampleData(deps, seedPrincipal, { keepsOwners: true })
      : await withAdvisoryLock(deps.db.pool, SEED_LOCK, "seed", async () => seedResult(await seed(deps, store)));
    console.log(JSON.stringify(made ?? { alreadySeeded: true }));
  } finally {
    await store.close();
    await closeDb(databaseUrl);
  }
}

function seedResult(company: SeededCompany | null) {
  if (company === null) return { alreadySeeded: true };
  const { email, password, apiKey, organisationId } = company;
  return { email, password, apiKey, organisationId };
}

await main();
