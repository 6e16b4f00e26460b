import { beforeAll, describe, expect, it } from "vitest";
import type { UsageEvent } from "@/lib/domain/usage-event";
import { keysOf } from "@/lib/redis/keys";
import { openBookkeeping, streamEntry } from "@/lib/testing/bookkeeping";
import { booksOf } from "@/lib/testing/reservations";
import { insertOrganisationRow, usageEventOf } from "@/lib/testing/usage-events";
import type { BookkeepingDeps } from "./bookkeeping";
import { applyCorrections, bookEntries } from "./settlement";

const periodId = `M${new Date().toISOString().slice(0, 7)}`;
let deps: BookkeepingDeps;

beforeAll(async () => {
  const bench = await openBookkeeping();
  deps = bench.deps;
  return bench.close;
});

/** An unfenced organisation whose counters hold what the script charged for one event. */
async function charged(amount: bigint) {
  const organisation = await insertOrganisationRow(deps.db);
  const keys = keysOf(organisation.organisationId);
  const day = new Date().toISOString().slice(0, 10);
  await deps.store.redis.set(keys.generation, deps.store.runId() ?? "");
  await deps.store.redis.hset(keys.counter(organisation.budgetId, periodId), "s", amount.toString());
  await deps.store.redis.hset(keys.book(day), "USD", amount.toString());
  return organisation;
}

type Organisation = Awaited<ReturnType<typeof charged>>;

async function book(organisation: Organisation, ...entries: ReturnType<typeof streamEntry>[]): Promise<void> {
  await bookEntries(deps, organisation.organisationId, entries);
  await applyCorrections(deps, organisation.organisationId);
}

function books({ organisationId, budgetId }: Organisation) {
  return booksOf(deps.db, deps.store.redis, organisationId, budgetId, periodId);
}

function sameCall(first: UsageEvent, organisation: Organisation, amount: bigint, changes: Partial<UsageEvent> = {}) {
  const { requestId, reservedAtMs } = first;
  return usageEventOf({ ...organisation, amount }, { requestId, reservedAtMs, ...changes });
}

const EXPIRED = { kind: "expired", outcome: "unknown", isEstimated: true } as const;

describe("an event whose script charged the counters, and that another event of its call overtook", () => {
  it("is entered and taken back where the other knows better: a late settlement, booked before the expiry it follows", async () => {
    const organisation = await charged(5_000n);
    const expired = usageEventOf({ ...organisation, amount: 5_000n }, EXPIRED);
    const late = streamEntry(sameCall(expired, organisation, 1_200n), "late");
    // A worker died with the expiry in hand; the next one reads on, and claims what the dead one had only later.
    await book(organisation, late);
    expect(await books(organisation)).toMatchObject({ ledger: 1_200n, settled: "6200" });
    await book(organisation, streamEntry(expired, "expired"));
    const agreed = { ledger: 1_200n, rollup: 1_200n, settled: "1200", book: 1_200n };
    expect(await books(organisation)).toMatchObject(agreed);
    await book(organisation, streamEntry(expired, "expired"), late);
    expect(await books(organisation)).toMatchObject(agreed);
  });

  it("replaces the other where it knows better itself", async () => {
    const organisation = await charged(900n);
    const settled = usageEventOf({ ...organisation, amount: 900n });
    await book(
      organisation,
      streamEntry(sameCall(settled, organisation, 700n, { ...EXPIRED, kind: "settled" }), "late"),
    );
    await book(organisation, streamEntry(settled, "settled"));
    await book(organisation, streamEntry(settled, "settled"));
    expect(await books(organisation)).toMatchObject({ ledger: 900n, rollup: 900n, settled: "900", book: 900n });
  });

  it("is entered and taken back where the bill was booked before it", async () => {
    const organisation = await charged(900n);
    const settled = usageEventOf({ ...organisation, amount: 900n });
    const billed = sameCall(settled, organisation, 950n, { outcome: "reconciled" });
    await book(organisation, streamEntry(billed, "late"));
    await book(organisation, streamEntry(settled, "settled"));
    expect(await books(organisation)).toMatchObject({ ledger: 950n, rollup: 950n, settled: "950", book: 950n });
  });
});
