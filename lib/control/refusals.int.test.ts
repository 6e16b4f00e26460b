import { beforeAll, expect, it } from "vitest";
import type { RefusalEvent } from "@/lib/domain/usage-event";
import { keysOf } from "@/lib/redis/keys";
import { openBookkeeping } from "@/lib/testing/bookkeeping";
import { insertOrganisationRow } from "@/lib/testing/usage-events";
import type { BookkeepingDeps } from "./bookkeeping";
import { drainRefusals } from "./refusals";

let deps: BookkeepingDeps;

beforeAll(async () => {
  const bench = await openBookkeeping();
  deps = bench.deps;
  return bench.close;
});

function refusal(organisationId: string, requestId: string, modelRequested: string): RefusalEvent {
  return {
    ...{ organisationId, requestId, refusedAtMs: Date.now(), apiKeyId: "key_test", appId: "con_app" },
    ...{ consumerPath: [organisationId, "con_app"], environment: "production", trafficClass: "general" },
    ...{ route: "chat/completions", modelRequested, statusCode: 404, code: "model_not_found", budgetId: null },
    explanation: { detail: modelRequested },
  };
}

it("whatever a caller names, its refusals and those of others are noted", async () => {
  const { organisationId } = await insertOrganisationRow(deps.db);
  const { refusals } = keysOf(organisationId);
  const names = ["half \ud83d a pair", "nothing \u0000 at all", "\\u0000", "\ud83d\ude00", "plain"];
  for (const [index, name] of names.entries()) {
    const event = refusal(organisationId, `req_${organisationId}_${String(index)}`, name);
    await deps.store.redis.xadd(refusals, "*", "e", JSON.stringify(event));
  }
  expect(await drainRefusals(deps, organisationId)).toBe(names.length);
  const rows = await deps.db.prisma.refusal.findMany({ where: { organisationId }, orderBy: { requestId: "asc" } });
  expect(rows.map(({ modelRequested }) => modelRequested)).toEqual([
    ...["half \ufffd a pair", "nothing \ufffd at all", "\\u0000", "\ud83d\ude00", "plain"],
  ]);
  expect(await deps.store.redis.xlen(refusals)).toBe(0);
});
