/** Deferred calls as the console shows and cancels them, and sessions of calls, on a real gateway and worker. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readDeferredCalls } from "@/lib/console/deferred-calls";
import type { ConsolePrincipal } from "@/lib/console/principal";
import { readRequest, readRequests } from "@/lib/console/requests";
import { requestListQuery } from "@/lib/contracts/requests";
import { takeOverDeferred } from "@/lib/control/deferred-calls";
import { cancelDeferredCall } from "@/lib/control/deferral-cancel";
import { drainRefusals } from "@/lib/control/refusals";
import { listOrganisations } from "@/lib/db/console-consumers";
import type { Role } from "@/lib/domain/role";
import type { DeferralRig } from "@/lib/testing/deferral-rig";
import { LATER, startDeferralRig, WAITS } from "@/lib/testing/deferral-rig";
import type { TestOrganisation } from "@/lib/testing/factories";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { createConsoleServices } from "./console";
import type { ConsoleServices } from "./console";

let rig: DeferralRig;
let services: ConsoleServices;
beforeAll(async () => {
  rig = await startDeferralRig();
  services = createConsoleServices(await testDatabaseUrl(), testRedisUrl(), { logLevel: "silent" });
});
afterAll(async () => {
  await services.close();
  await rig.close();
});

async function personAt(organisationId: string, consumerId: string, role: Role): Promise<ConsolePrincipal> {
  const [organisation] = await listOrganisations(services.db.pool, [organisationId]);
  if (organisation === undefined) throw new Error("the organisation was just made");
  const principal = { userId: "usr_test", label: "Test", memberships: [{ organisationId, consumerId, role }] };
  return { principal, organisation, user: { id: "usr_test", name: "Test", email: "test@example.com" } };
}

/** Everything that the gateway noted and settled, in Postgres. */
async function booked(made: TestOrganisation): Promise<void> {
  await drainRefusals(rig.bench.books, made.organisationId);
  await rig.entries(made);
}

const all = { state: "" as const, after: "" };

describe("a deferred call in the console", () => {
  it("leads from the call that was deferred to its run and back", async () => {
    const made = await rig.bench.organisation({ policy: WAITS });
    const id = await rig.take(made);
    await takeOverDeferred(rig.deps, made.organisationId);
    await drainRefusals(rig.bench.books, made.organisationId);
    const who = await personAt(made.organisationId, made.organisationId, "developer");
    const [waiting] = (await readDeferredCalls(services, who, all)).rows;
    expect(waiting).toMatchObject({
      id,
      state: "pending",
      appName: "app",
      tries: 0,
      canCancel: true,
      runRequestId: null,
    });
    await rig.work(made);
    await booked(made);
    const [done] = (await readDeferredCalls(services, who, { ...all, state: "done" })).rows;
    expect(done).toMatchObject({ id, state: "done", tries: 1, canCancel: false, modelRequested: "sandbox-small" });
    const { requestId, runRequestId } = done ?? {};
    const note = await readRequest(services, who, requestId ?? "");
    expect(note.refusal?.deferral).toMatchObject({ id, state: "done", runRequestId });
    const run = await readRequest(services, who, runRequestId ?? "");
    expect(run.deferredFrom).toEqual({ id, requestId });
    expect(note.deferredFrom).toBeNull();
  });

  it("is cancelled before it runs, by those who may write its app's keys, and never reaches a provider", async () => {
    const made = await rig.bench.organisation({ policy: WAITS });
    const id = await rig.take(made);
    await takeOverDeferred(rig.deps, made.organisationId);
    const ref = { organisationId: made.organisationId, deferredId: id };
    const auditor = await personAt(made.organisationId, made.organisationId, "auditor");
    expect((await readDeferredCalls(services, auditor, all)).rows).toMatchObject([{ id, canCancel: false }]);
    const refused = cancelDeferredCall(rig.bench.control, auditor.principal, ref);
    await expect(refused).rejects.toMatchObject({ code: "not_found" });
    const developer = await personAt(made.organisationId, made.consumers.app, "developer");
    await cancelDeferredCall(rig.bench.control, developer.principal, ref);
    expect(await rig.view(made, id)).toMatchObject({ status: "cancelled" });
    const again = cancelDeferredCall(rig.bench.control, developer.principal, ref);
    await expect(again).rejects.toMatchObject({ code: "conflict" });
    await rig.work(made);
    const [row] = (await readDeferredCalls(services, developer, all)).rows;
    expect(row).toMatchObject({ id, state: "cancelled", canCancel: false });
    expect(row?.endedAtMs).not.toBeNull();
    expect(await rig.upstreamCalls(made)).toBe(0);
  });

  it("of an app that the person may not see is not there", async () => {
    const made = await rig.bench.organisation({ policy: WAITS });
    await rig.take(made);
    await takeOverDeferred(rig.deps, made.organisationId);
    const elsewhere = await personAt(made.organisationId, "con_elsewhere", "lead");
    expect((await readDeferredCalls(services, elsewhere, all)).rows).toEqual([]);
  });
});

describe("a session", () => {
  it("is noted with its calls, served, refused and deferred ones, without a policy that counts it, and finds them", async () => {
    const made = await rig.bench.organisation({ policy: { ...WAITS, models: { deny: ["sandbox-medium"] } } });
    const session = `run 7 "x" ${made.organisationId}`;
    const headers = { "x-spillway-session": session };
    expect((await rig.call(made, { headers })).status).toBe(200);
    expect((await rig.call(made, { headers, body: { model: "sandbox-medium" } })).status).toBe(403);
    await rig.take(made, { headers: { ...headers, ...LATER.headers } });
    expect((await rig.call(made)).status).toBe(200);
    await booked(made);
    const who = await personAt(made.organisationId, made.organisationId, "developer");
    const found = await readRequests(services, who, requestListQuery.parse({ session }));
    expect(found.rows.map((row) => row.decision).sort()).toEqual(["deferred", "pass", "refused"]);
    for (const row of found.rows) expect((await readRequest(services, who, row.requestId)).session).toBe(session);
    expect((await readRequests(services, who, requestListQuery.parse({}))).rows).toHaveLength(4);
    expect((await readRequests(services, who, requestListQuery.parse({ session: "other" }))).rows).toEqual([]);
  });
});
