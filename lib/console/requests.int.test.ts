/** The request log on a real Postgres: pages, visibility, and what is no refusal. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listOrganisations } from "@/lib/db/console-consumers";
import { newId } from "@/lib/domain/ids";
import type { Role } from "@/lib/domain/role";
import { createTestControl, createTestOrganisation } from "@/lib/testing/factories";
import type { TestControl, TestOrganisation } from "@/lib/testing/factories";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { createConsoleServices } from "@/lib/wiring/console";
import type { ConsoleServices } from "@/lib/wiring/console";
import { readOverview } from "./overview";
import type { ConsolePrincipal } from "./principal";
import { EXPORT_COLUMNS, exportRequests } from "./request-export";
import { readRequest, readRequests } from "./requests";

let control: TestControl;
let services: ConsoleServices;

beforeAll(async () => {
  const databaseUrl = await testDatabaseUrl();
  control = createTestControl(databaseUrl, testRedisUrl());
  services = createConsoleServices(databaseUrl, testRedisUrl(), { logLevel: "silent" });
});
afterAll(async () => {
  await services.close();
  await control.close();
});

async function personAt(organisationId: string, consumerId: string, role: Role): Promise<ConsolePrincipal> {
  const [organisation] = await listOrganisations(services.db.pool, [organisationId]);
  if (organisation === undefined) throw new Error("the organisation was just made");
  return {
    principal: { userId: "usr_test", label: "Test", memberships: [{ organisationId, consumerId, role }] },
    organisation,
    user: { id: "usr_test", name: "Test", email: "test@example.com" },
  };
}

describe("requests", () => {
  async function refuse(
    org: TestOrganisation,
    atMs: number,
    code = "TEAM_BUDGET_EXHAUSTED",
    explanation: unknown = null,
  ): Promise<string> {
    const requestId = newId("req", atMs);
    await services.db.pool.query(
      `INSERT INTO refusals (request_id, refused_at, organisation_id, app_id, consumer_path, route, status_code, code,
         model_requested, explanation)
       VALUES ($1, $2, $3, $4, $5, 'chat/completions', 429, $6, 'sandbox-large', $7)`,
      [requestId, new Date(atMs), org.organisationId, org.consumers.app, [org.organisationId], code, explanation],
    );
    return requestId;
  }
  const query = { q: "", app: "", model: "", decision: "" as const, outcome: "", session: "", after: "" };

  it("come in pages that neither repeat nor skip, also within one millisecond", async () => {
    const org = await createTestOrganisation(control, {});
    const nowMs = services.clock.nowMs();
    const made: string[] = [];
    for (let index = 0; index < 120; index += 1) made.push(await refuse(org, nowMs - Math.floor(index / 60)));
    const who = await personAt(org.organisationId, org.consumers.root, "auditor");
    const seen: string[] = [];
    let after: string | null = "";
    while (after !== null) {
      const page: Awaited<ReturnType<typeof readRequests>> = await readRequests(services, who, { ...query, after });
      seen.push(...page.rows.map((row) => row.requestId));
      after = page.next;
    }
    expect(seen).toHaveLength(120);
    expect([...seen].sort()).toEqual([...made].sort());
  });

  it("are all in the file that they are saved to, under the filters of the page and for no stranger", async () => {
    const org = await createTestOrganisation(control, {});
    const nowMs = services.clock.nowMs();
    const made: string[] = [];
    for (let index = 0; index < 60; index += 1) made.push(await refuse(org, nowMs - index));
    await refuse(org, nowMs, "=PROTECTED_RUNG");
    const linesFor = async (who: ConsolePrincipal, filter = query): Promise<string[]> => {
      let file = "";
      for await (const piece of exportRequests(services, who, filter, (column) => column)) file += piece;
      return file.trimEnd().split("\r\n");
    };
    const who = await personAt(org.organisationId, org.consumers.root, "auditor");
    const [head, ...rows] = await linesFor(who, { ...query, outcome: "TEAM_BUDGET_EXHAUSTED" });
    expect(head).toBe(`\uFEFF${EXPORT_COLUMNS.join(",")}`);
    expect(rows.map((row) => row.split(",")[2])).toEqual(made);
    // Nothing is known of what a refused call would have cost.
    expect(rows[0]).toMatch(/,sandbox-large,,refused,TEAM_BUDGET_EXHAUSTED,,,USD,,,,429,false$/u);
    expect((await linesFor(who)).filter((row) => row.includes(",'=PROTECTED_RUNG,"))).toHaveLength(1);
    const other = await createTestOrganisation(control, {});
    expect(await linesFor(await personAt(other.organisationId, other.consumers.root, "owner"))).toHaveLength(1);
  });

  it("go into no file for those who may read them and not export", async () => {
    const org = await createTestOrganisation(control, {});
    await refuse(org, services.clock.nowMs());
    const found = async (role: Role) => {
      const who = await personAt(org.organisationId, org.consumers.root, role);
      const { rows, canExport } = await readRequests(services, who, query);
      let file = "";
      for await (const piece of exportRequests(services, who, query, (column) => column)) file += piece;
      return { read: rows.length, exported: file.trimEnd().split("\r\n").length - 1, canExport };
    };
    expect(await found("developer")).toEqual({ read: 1, exported: 0, canExport: false });
    expect(await found("engineer")).toEqual({ read: 1, exported: 0, canExport: false });
    expect(await found("finance")).toEqual({ read: 1, exported: 1, canExport: true });
  });

  it("look missing to those who may not see the app", async () => {
    const org = await createTestOrganisation(control, {});
    const requestId = await refuse(org, services.clock.nowMs());
    const seer = await personAt(org.organisationId, org.consumers.app, "developer");
    expect((await readRequest(services, seer, requestId)).refusal?.code).toBe("TEAM_BUDGET_EXHAUSTED");
    const other = await createTestOrganisation(control, {});
    const stranger = await personAt(other.organisationId, other.consumers.root, "owner");
    await expect(readRequest(services, stranger, requestId)).rejects.toMatchObject({ code: "not_found" });
    await expect(readRequest(services, seer, "req_nonsense")).rejects.toMatchObject({ code: "not_found" });
  });

  it("that were answered without a provider are not refusals, and say what they got", async () => {
    const org = await createTestOrganisation(control, {});
    const who = await personAt(org.organisationId, org.consumers.root, "auditor");
    const nowMs = services.clock.nowMs();
    const firstId = newId("req", nowMs);
    const deferredId = newId("dfr", nowMs);
    const refused = await refuse(org, nowMs);
    const replayed = await refuse(org, nowMs - 1, "replayed", { requestId: firstId });
    const waiting = await refuse(org, nowMs - 2, "deferred", { deferredId });
    const fixed = await refuse(org, nowMs - 3, "static_answer");
    const idsOf = async (decision: "" | "refused" | "replayed" | "deferred" | "static"): Promise<string[]> =>
      (await readRequests(services, who, { ...query, decision })).rows.map((row) => row.requestId);
    expect(await idsOf("")).toEqual([refused, replayed, waiting, fixed]);
    expect(await idsOf("refused")).toEqual([refused]);
    expect(await idsOf("replayed")).toEqual([replayed]);
    expect(await idsOf("deferred")).toEqual([waiting]);
    expect(await idsOf("static")).toEqual([fixed]);
    expect((await readOverview(services, who)).refusals.map((row) => row.requestId)).toEqual([refused]);
    expect((await readRequest(services, who, replayed)).refusal?.replayedRequestId).toBe(firstId);
    const taken = { id: deferredId, runRequestId: null, state: null, tries: 0, deadlineMs: null, endedMs: null };
    expect((await readRequest(services, who, waiting)).refusal?.deferral).toEqual(taken);
    await services.db.pool.query(
      `INSERT INTO deferred_calls (id, organisation_id, api_key_id, app_id, state, request_box, tries, next_at, deadline_at,
         keep_seconds, created_at) VALUES ($1, $2, $3, $4, 'pending', '', 3, $5, $5, 60, $5)`,
      [deferredId, org.organisationId, org.apiKey.id, org.consumers.app, new Date(nowMs)],
    );
    expect((await readRequest(services, who, waiting)).refusal?.deferral).toEqual({
      ...taken,
      ...{ state: "pending", tries: 3, deadlineMs: nowMs },
    });
  });
});
