import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listFxRates } from "@/lib/db/prices";
import { AppError } from "@/lib/domain/fault";
import { fxDocument } from "@/lib/domain/snapshot";
import { keysOf } from "@/lib/redis/keys";
import { createTestControl, createTestOrganisation, testPrincipal } from "@/lib/testing/factories";
import type { TestControl, TestOrganisation } from "@/lib/testing/factories";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { applyFxImport, previewFxImport } from "./fx-imports";
import { undoPriceImport } from "./price-import-undo";

let deps: TestControl;
beforeAll(async () => {
  deps = createTestControl(await testDatabaseUrl(), testRedisUrl());
});
afterAll(async () => {
  await deps.close();
});

const faultOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (error: unknown) =>
      error instanceof AppError ? [error.code, ...Object.keys(error.fields ?? {})].join(" ") : String(error),
  );

describe("exchange rates", () => {
  const fx = (rows: string[]) => ["base,quote,rate,effectiveFrom", ...rows, ""].join("\n");
  const input = (org: TestOrganisation, rows: string[]) => ({
    organisationId: org.organisationId,
    text: fx(rows),
    source: "central bank",
  });
  const applyRates = async (file: ReturnType<typeof input>, confirmed: string[] = []) => {
    const { digest } = await previewFxImport(deps, testPrincipal, file);
    return applyFxImport(deps, testPrincipal, { ...file, digest, confirmed });
  };
  const pushed = async (org: TestOrganisation) =>
    fxDocument.parse(JSON.parse((await deps.redis.hget(keysOf(org.organisationId).snapshot, "x")) ?? "[]"));

  test("are dated, taken over once, and gone when they are taken back", async () => {
    const org = await createTestOrganisation(deps, { models: [] });
    const file = input(org, [
      "USD,CNY,7.1,2026-11-01",
      "USD,CNY,7.2,2026-11-02T08:00:00+08:00",
      "EUR,USD,1.1,2026-11-01",
    ]);
    const { priceImport } = await applyRates(file);
    expect((await pushed(org)).map((row) => [row.base, row.rate])).toEqual(
      expect.arrayContaining([
        ["USD", "7.2"],
        ["EUR", "1.1"],
      ]),
    );
    expect(await previewFxImport(deps, testPrincipal, file)).toMatchObject({ changes: [], unchanged: 3 });
    await undoPriceImport(deps, testPrincipal, { organisationId: org.organisationId, importId: priceImport.id });
    expect(await pushed(org)).toEqual([]);
  });

  test("come in and go for those alone who may write prices", async () => {
    const org = await createTestOrganisation(deps, { models: [] });
    const { organisationId } = org;
    const membership = { organisationId, consumerId: organisationId, role: "lead" as const };
    const lead = { userId: "usr_lead", label: "lead", memberships: [membership] };
    const file = input(org, ["USD,CNY,7.1,2026-11-01"]);
    expect(await faultOf(previewFxImport(deps, lead, file))).toBe("not_found");
    const { priceImport } = await applyRates(file);
    expect(await faultOf(undoPriceImport(deps, lead, { organisationId, importId: priceImport.id }))).toBe("not_found");
  });

  test.each([
    ["zero", "USD,CNY,0,2026-11-01", "rate"],
    ["NaN", "USD,CNY,NaN,2026-11-01", "rate"],
    ["1e309", "USD,CNY,1e309,2026-11-01", "rate"],
    ["negative", "USD,CNY,-7,2026-11-01", "rate"],
    ["of no currency", "USD,yuan,7,2026-11-01", "quote"],
    ["of a currency to itself", "USD,USD,1,2026-11-01", "quote"],
    ["of no day", "USD,CNY,7,2026-02-30", "effectiveFrom"],
    ["twice of one moment", "USD,EUR,0.92,2026-11-01", "effectiveFrom"],
  ])("%s are refused with the whole file", async (_, row, field) => {
    const org = await createTestOrganisation(deps, { models: [] });
    const file = input(org, ["USD,EUR,0.9,2026-11-01", row]);
    expect(await faultOf(applyRates(file))).toBe(`invalid_request text:3:${field}`);
    expect(await listFxRates(deps.db.prisma, org.organisationId)).toEqual([]);
  });

  test("ten times off must be confirmed, and another rate for a booked moment is refused", async () => {
    const org = await createTestOrganisation(deps, { models: [] });
    await applyRates(input(org, ["USD,CNY,7.1,2026-11-01"]));
    expect(await faultOf(applyRates(input(org, ["USD,CNY,7.3,2026-11-01"])))).toBe(
      "invalid_request text:2:effectiveFrom",
    );
    const turned = input(org, ["USD,CNY,0.14,2026-11-02"]);
    const name = "USD/CNY 2026-11-02T00:00:00.000Z";
    expect(await faultOf(applyRates(turned))).toBe(`invalid_request confirmed:${name}`);
    expect(await faultOf(applyRates(turned, [name]))).toBe("done");
  });
});
