import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listAuditEntries } from "@/lib/db/audit-log";
import { listPriceImports } from "@/lib/db/price-imports";
import { listPricesOfModels } from "@/lib/db/prices";
import type { Clock } from "@/lib/domain/clock";
import { AppError } from "@/lib/domain/fault";
import type { Principal, Role } from "@/lib/domain/role";
import { modelDocument } from "@/lib/domain/snapshot";
import { keysOf } from "@/lib/redis/keys";
import { createTestControl, createTestOrganisation, testPrincipal } from "@/lib/testing/factories";
import type { TestControl, TestOrganisation } from "@/lib/testing/factories";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { withIdempotencyKey } from "./idempotency";
import { undoPriceImport } from "./price-import-undo";
import { applyPriceImport, previewPriceImport } from "./price-imports";
import { addPrice } from "./prices";

const HOUR_MS = 3_600_000;
let deps: TestControl;
// Moved by the tests, so that a price can come into force without waiting for it.
let shiftMs = 0;
const clock: Clock = { nowMs: () => Date.now() + shiftMs };

beforeAll(async () => {
  deps = createTestControl(await testDatabaseUrl(), testRedisUrl(), clock);
  await createTestOrganisation(deps, { models: ["sandbox-small"] });
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
const company = () => createTestOrganisation(deps, { models: ["sandbox-small", "sandbox-large"] });
const person = (role: Role, organisationId: string): Principal => ({
  userId: `usr_${role}`,
  label: role,
  memberships: [{ organisationId, consumerId: organisationId, role }],
});
const day = (ms: number) => new Date(ms).toISOString();
const csv = (rows: string[]) =>
  ["model,currency,unit,effectiveFrom,inputPerToken,outputPerToken", ...rows, ""].join("\n");
const file = (org: TestOrganisation, text: string, changes: object = {}) => ({
  organisationId: org.organisationId,
  format: "csv" as const,
  text,
  source: "contract 2026",
  ...changes,
});
type File = ReturnType<typeof file>;
const apply = async (input: File, confirmed: string[] = [], principal = testPrincipal) => {
  const { digest } = await previewPriceImport(deps, principal, input);
  return applyPriceImport(deps, principal, { ...input, digest, confirmed });
};
const pricesOf = async (org: TestOrganisation, model: "sandbox-small" | "sandbox-large" = "sandbox-small") =>
  listPricesOfModels(deps.db.prisma, org.organisationId, [org.models[model]?.id ?? ""]);
const rateNow = async (org: TestOrganisation, model: "sandbox-small" | "sandbox-large" = "sandbox-small") => {
  const nowMs = clock.nowMs();
  const text = await deps.redis.hget(keysOf(org.organisationId).snapshot, `m:${org.models[model]?.id ?? ""}`);
  const rows = modelDocument.parse(JSON.parse(text ?? "")).prices;
  const inForce = rows.filter((row) => row.effectiveFromMs <= nowMs && (row.effectiveToMs ?? Infinity) > nowMs);
  expect(inForce.length).toBeLessThan(2);
  return inForce[0]?.rates.inputPerToken;
};

describe("a price book", () => {
  test("is looked at without changing anything, and applied as it was looked at", async () => {
    const org = await company();
    const fromMs = clock.nowMs() + HOUR_MS;
    const input = file(org, csv([`sandbox-small,USD,million_tokens,${day(fromMs)},0.30,0.60`]));
    const preview = await previewPriceImport(deps, testPrincipal, input);
    expect(preview.changes).toMatchObject([
      {
        model: "sandbox-small",
        kind: "changed",
        effectiveFromMs: fromMs,
        rates: expect.arrayContaining([
          { path: "inputPerToken", before: "0.00000015", after: "0.0000003", factor: "2" },
        ]),
        needsConfirmation: false,
      },
    ]);
    expect(await pricesOf(org)).toHaveLength(1);
    const { priceImport } = await applyPriceImport(deps, testPrincipal, { ...input, digest: preview.digest });
    const [old, fresh] = await pricesOf(org);
    expect(old).toMatchObject({ importId: null, effectiveTo: new Date(fromMs) });
    expect(fresh).toMatchObject({ importId: priceImport.id, source: "contract 2026", effectiveTo: null });
    expect(await rateNow(org)).toBe("0.00000015");
    const [entry] = await listAuditEntries(deps.db.prisma, org.organisationId, { take: 1 });
    expect(entry).toMatchObject({ action: "price.import", objectId: priceImport.id });
  });

  test("given again changes nothing", async () => {
    const org = await company();
    const input = file(org, csv([`sandbox-small,USD,million_tokens,${day(clock.nowMs() + HOUR_MS)},0.30,0.6`]));
    await apply(input);
    const again = await previewPriceImport(deps, testPrincipal, input);
    expect(again).toMatchObject({ changes: [], unchanged: 1 });
    expect(await faultOf(apply(input))).toBe("conflict");
    expect(await pricesOf(org)).toHaveLength(2);
  });

  test("with several dated rows of a model ends each at the next", async () => {
    const org = await company();
    const [a, b] = [clock.nowMs() + HOUR_MS, clock.nowMs() + 2 * HOUR_MS];
    const row = (ms: number, rate: string) => `sandbox-small,USD,million_tokens,${day(ms)},${rate},0.6`;
    await apply(file(org, csv([row(b, "0.4"), row(a, "0.3")])));
    expect((await pricesOf(org)).map((price) => price.effectiveTo?.getTime() ?? null)).toEqual([a, b, null]);
  });

  test("keeps the currency of each row, and another currency than before must be confirmed", async () => {
    const org = await company();
    const later = day(clock.nowMs() + HOUR_MS);
    const text = csv([
      `sandbox-small,CNY,million_tokens,${later},1,2`,
      `sandbox-large,USD,million_tokens,${later},2.6,10`,
    ]);
    expect(await faultOf(apply(file(org, text)))).toBe("invalid_request confirmed:sandbox-small");
    await apply(file(org, text), ["sandbox-small"]);
    expect((await pricesOf(org)).at(-1)?.currency).toBe("CNY");
    expect((await pricesOf(org, "sandbox-large")).at(-1)?.currency).toBe("USD");
  });

  test.each([
    ["over 10,000 per million", "10001"],
    ["a hundred times the last", "15.01"],
  ])("with a price %s needs that model confirmed, and nothing is kept without it", async (_, rate) => {
    const org = await company();
    const later = day(clock.nowMs() + HOUR_MS);
    const text = csv([
      `sandbox-large,USD,million_tokens,${later},3,10`,
      `sandbox-small,USD,million_tokens,${later},${rate},20000`,
    ]);
    expect(await faultOf(apply(file(org, text), ["sandbox-large"]))).toBe("invalid_request confirmed:sandbox-small");
    expect(await pricesOf(org, "sandbox-large")).toHaveLength(1);
    expect(await listPriceImports(deps.db.prisma, org.organisationId, 10)).toEqual([]);
    expect(await faultOf(apply(file(org, text), ["sandbox-small"]))).toBe("done");
  });

  test.each([
    ["NaN", "NaN"],
    ["1e309", "1e309"],
    ["Infinity", "Infinity"],
    ["a negative rate", "-1"],
    ["a comma", '"1,5"'],
    ["nothing", ""],
    ["a rate of 13 digits", "1234567890123"],
  ])("with %s in one row is refused whole: the old book stands", async (_, rate) => {
    const org = await company();
    const later = day(clock.nowMs() + HOUR_MS);
    const good = `sandbox-large,USD,million_tokens,${later},3,10`;
    const text = csv([good, `sandbox-small,USD,million_tokens,${later},${rate},${rate === "" ? "" : "0.6"}`]);
    expect(await faultOf(previewPriceImport(deps, testPrincipal, file(org, text)))).toMatch(
      /^invalid_request text:3:rates/u,
    );
    const blind = { ...file(org, text), digest: "0".repeat(64) };
    expect(await faultOf(applyPriceImport(deps, testPrincipal, blind))).toMatch(/^invalid_request text:3:rates/u);
    expect([...(await pricesOf(org)), ...(await pricesOf(org, "sandbox-large"))]).toHaveLength(2);
  });

  test.each([
    ["a currency that is none", "sandbox-small,usd,million_tokens,2030-01-01,1,2", "text:2:currency"],
    ["a unit that is none", "sandbox-small,USD,gram,2030-01-01,1,2", "text:2:unit"],
    ["a day that does not exist", "sandbox-small,USD,token,2030-02-30,0.000001,0", "text:2:effectiveFrom"],
    ["a model nobody has", "gpt-99,USD,million_tokens,2030-01-01,1,2", "text:gpt-99"],
    ["a later price in the past", "sandbox-small,USD,million_tokens,2026-01-01,1,2", "text:sandbox-small"],
    ["a cell too few", "sandbox-small,USD", "text:2"],
  ])("with %s is refused, naming the place", async (_, row, field) => {
    const org = await company();
    expect(await faultOf(previewPriceImport(deps, testPrincipal, file(org, csv([row]))))).toBe(
      `invalid_request ${field}`,
    );
  });

  test("in YAML and as the public map's JSON reads the same prices; models the map does not name keep theirs", async () => {
    const org = await company();
    const map = JSON.stringify({
      sample_spec: { mode: "chat" },
      "sandbox-small": {
        litellm_provider: "sandbox",
        mode: "chat",
        input_cost_per_token: 3e-7,
        output_cost_per_token: 6e-7,
      },
    });
    const seen = await previewPriceImport(deps, testPrincipal, file(org, map, { format: "price_map" }));
    expect(seen.unmatched).toEqual(["sandbox-large"]);
    await apply(file(org, map, { format: "price_map" }));
    expect(await rateNow(org)).toBe("0.0000003");
    const yaml = `prices:
  - model: sandbox-small
    currency: USD
    unit: million_tokens
    effectiveFrom: ${day(clock.nowMs() + HOUR_MS)}
    rates: { inputPerToken: 0.3, outputPerToken: 0.6 }
`;
    const same = await previewPriceImport(deps, testPrincipal, file(org, yaml, { format: "yaml" }));
    expect(same).toMatchObject({ changes: [], unchanged: 1 });
    for (const broken of ["{", "[]", '{"a":{"litellm_provider":"x","input_cost_per_token":"NaN"}}']) {
      expect(await faultOf(apply(file(org, broken, { format: "price_map" })))).toMatch(/^invalid_request text/u);
    }
  });

  test("takes the chosen models only", async () => {
    const org = await company();
    const later = day(clock.nowMs() + HOUR_MS);
    const row = (model: string) => `${model},USD,million_tokens,${later},1,11`;
    const text = csv([row("sandbox-small"), row("sandbox-large")]);
    await apply(file(org, text, { models: ["sandbox-large"] }));
    expect(await pricesOf(org)).toHaveLength(1);
    expect(await pricesOf(org, "sandbox-large")).toHaveLength(2);
  });

  test("that was changed by somebody between look and application is a conflict", async () => {
    const org = await company();
    const input = file(org, csv([`sandbox-small,USD,million_tokens,${day(clock.nowMs() + 2 * HOUR_MS)},0.3,0.6`]));
    const { digest } = await previewPriceImport(deps, testPrincipal, input);
    const { organisationId } = org;
    const perMillion = { input: "0.2", output: "0.6" };
    const between = { organisationId, modelId: org.models["sandbox-small"]?.id ?? "", currency: "USD", perMillion };
    await addPrice(deps, testPrincipal, { ...between, effectiveFromMs: clock.nowMs() + HOUR_MS });
    expect(await faultOf(applyPriceImport(deps, testPrincipal, { ...input, digest }))).toBe("conflict");
    const other = file(org, input.text.replace("0.3", "0.31"));
    expect(await faultOf(applyPriceImport(deps, testPrincipal, { ...other, digest }))).toBe("conflict");
  });

  test("is imported once under one Idempotency-Key, also where the first answer was lost", async () => {
    const org = await company();
    const input = file(org, csv([`sandbox-small,USD,million_tokens,${day(clock.nowMs() + HOUR_MS)},0.3,0.6`]));
    const { digest } = await previewPriceImport(deps, testPrincipal, input);
    const keyed = withIdempotencyKey(deps, "import-1", input);
    const results = [];
    for (let time = 0; time < 2; time += 1) {
      results.push(await applyPriceImport(keyed, testPrincipal, { ...input, digest }));
    }
    expect(results[0]?.priceImport.id).toBe(results[1]?.priceImport.id);
    expect(await pricesOf(org)).toHaveLength(2);
  });

  test("is for those who may write prices, in their own organisation", async () => {
    const [org, other] = [await company(), await company()];
    const input = file(org, csv([`sandbox-small,USD,million_tokens,${day(clock.nowMs() + HOUR_MS)},0.3,0.6`]));
    for (const who of [person("developer", org.organisationId), person("finance", other.organisationId)]) {
      expect(await faultOf(previewPriceImport(deps, who, input))).toBe("not_found");
      expect(await faultOf(applyPriceImport(deps, who, { ...input, digest: "0".repeat(64) }))).toBe("not_found");
    }
    const { priceImport } = await apply(input, [], person("finance", org.organisationId));
    const ref = { organisationId: org.organisationId, importId: priceImport.id };
    expect(await faultOf(undoPriceImport(deps, person("lead", org.organisationId), ref))).toBe("not_found");
    const foreign = { ...ref, organisationId: other.organisationId };
    expect(await faultOf(undoPriceImport(deps, person("finance", other.organisationId), foreign))).toBe("not_found");
    expect(await pricesOf(other)).toHaveLength(1);
  });
});

describe("an import taken back", () => {
  test("before it came into force leaves the book as it was", async () => {
    const org = await company();
    const before = await pricesOf(org);
    const input = file(org, csv([`sandbox-small,USD,million_tokens,${day(clock.nowMs() + HOUR_MS)},0.3,0.6`]));
    const { priceImport } = await apply(input);
    const ref = { organisationId: org.organisationId, importId: priceImport.id };
    await undoPriceImport(deps, testPrincipal, ref);
    expect(await pricesOf(org)).toEqual(before);
    expect(await faultOf(undoPriceImport(deps, testPrincipal, ref))).toBe("conflict");
    expect(await faultOf(apply(input))).toBe("done");
  });

  test("in force keeps the rows that calls name, and the price before it holds from now on", async () => {
    const org = await company();
    const input = file(org, csv([`sandbox-small,USD,million_tokens,${day(clock.nowMs() + HOUR_MS)},0.3,0.6`]));
    const { priceImport } = await apply(input);
    shiftMs += 2 * HOUR_MS;
    const ref = { organisationId: org.organisationId, importId: priceImport.id };
    await undoPriceImport(deps, testPrincipal, ref);
    shiftMs += 1000;
    const rows = await pricesOf(org);
    expect(rows.map((row) => row.rates.inputPerToken)).toEqual(["0.00000015", "0.0000003", "0.00000015"]);
    expect(rows[1]?.importId).toBe(priceImport.id);
    expect(rows[1]?.effectiveTo).toEqual(rows[2]?.effectiveFrom);
    expect(await rateNow(org)).toBe("0.00000015");
  });

  test("that began at once ends at once", async () => {
    const org = await company();
    const map = JSON.stringify({
      "sandbox-small": { litellm_provider: "x", mode: "chat", input_cost_per_token: 3e-7 },
    });
    const { priceImport } = await apply(file(org, map, { format: "price_map" }));
    await undoPriceImport(deps, testPrincipal, { organisationId: org.organisationId, importId: priceImport.id });
    shiftMs += 1000;
    expect(await rateNow(org)).toBe("0.00000015");
  });

  test("is refused while a newer price stands on it, or when one of its prices is about to start", async () => {
    const org = await company();
    const row = (ms: number, rate: string) => `sandbox-small,USD,million_tokens,${day(ms)},${rate},0.6`;
    const first = await apply(file(org, csv([row(clock.nowMs() + HOUR_MS, "0.3")])));
    const second = await apply(file(org, csv([row(clock.nowMs() + 2 * HOUR_MS, "0.4")])));
    const undo = (importId: string) =>
      faultOf(undoPriceImport(deps, testPrincipal, { organisationId: org.organisationId, importId }));
    expect(await undo(first.priceImport.id)).toBe("conflict");
    expect(await undo(second.priceImport.id)).toBe("done");
    shiftMs += HOUR_MS - 30_000;
    expect(await undo(first.priceImport.id)).toBe("conflict");
    shiftMs += 60_000;
    expect(await undo(first.priceImport.id)).toBe("done");
  });
});
