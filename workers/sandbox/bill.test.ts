import { describe, expect, it } from "vitest";
import { Bill, type BillEntry } from "./bill";
import { findModel, MODELS, type SandboxModel } from "./prices";

interface Page {
  firstSequence: number;
  nextSequence: number;
  hasMore: boolean;
  lines: { sequence: number; requestTag: string | null; key: string; model: string; amountNanos: string }[];
  totals: Record<string, Record<string, { calls: number; amountNanos: string }>>;
}

function modelAt(index: number): SandboxModel {
  const model = MODELS[index % MODELS.length];
  if (model === undefined) throw new Error("no model");
  return model;
}

function modelNamed(id: string): SandboxModel {
  const model = findModel(id);
  if (model === undefined) throw new Error(`no model ${id}`);
  return model;
}

function entry(index: number): BillEntry {
  return {
    receivedAtMs: 1_767_225_600_000 + index,
    requestTag: index % 3 === 0 ? undefined : `tag-${index}`,
    key: `k${index % 5}`,
    model: modelAt(index),
    promptTokens: index % 1_000,
    cachedTokens: index % 7 === 0 ? Math.floor((index % 1_000) / 2) : 0,
    completionTokens: index % 300,
    aborted: index % 11 === 0,
    stream: index % 2 === 0,
  };
}

function page(bill: Bill, since: number, limit: number): Page {
  return JSON.parse(bill.page(since, limit)) as Page;
}

function allLines(bill: Bill, limit: number): Page["lines"] {
  const lines: Page["lines"] = [];
  for (let since = 0; ;) {
    const next = page(bill, since, limit);
    lines.push(...next.lines);
    since = next.nextSequence;
    if (!next.hasMore) return lines;
  }
}

describe("the bill", () => {
  it("keeps 100,000 lines whose sum is its totals to the nano", () => {
    const bill = new Bill();
    for (let index = 0; index < 100_000; index += 1) bill.add(entry(index));
    const sums = new Map<string, bigint>();
    const lines = allLines(bill, 30_000);
    expect(lines.map((line) => line.sequence)).toEqual(Array.from({ length: 100_000 }, (_, index) => index + 1));
    for (const line of lines) {
      const name = `${line.key} ${line.model}`;
      sums.set(name, (sums.get(name) ?? 0n) + BigInt(line.amountNanos));
    }
    const { totals } = page(bill, 0, 1);
    const totalled = Object.entries(totals).flatMap(([key, models]) =>
      Object.entries(models).map(([model, total]) => [`${key} ${model}`, BigInt(total.amountNanos)] as const),
    );
    expect(new Map(totalled)).toEqual(sums);
  });

  it("gives back each line as it was booked", () => {
    const bill = new Bill();
    expect(bill.add({ ...entry(0), requestTag: 'a"b', aborted: true, stream: false })).toBe(1);
    expect(page(bill, 0, 10).lines).toEqual([
      {
        sequence: 1,
        receivedAt: "2026-01-01T00:00:00.000Z",
        requestTag: 'a"b',
        key: "k0",
        model: "sandbox-large",
        promptTokens: 0,
        cachedTokens: 0,
        completionTokens: 0,
        amountNanos: "0",
        aborted: true,
        stream: false,
      },
    ]);
  });

  it("keeps what a call used besides plain tokens, with its line", () => {
    const bill = new Bill();
    const none = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
    bill.add(entry(0));
    bill.add({ ...entry(1), ...none, model: modelNamed("sandbox-whisper"), extras: { seconds: 7 } });
    const { lines, totals } = page(bill, 0, 10);
    expect(lines[0]).not.toHaveProperty("extras");
    expect(lines[1]).toMatchObject({ amountNanos: "700000", extras: { seconds: 7 } });
    expect(totals.k1?.["sandbox-whisper"]).toMatchObject({ calls: 1, amountNanos: "700000" });
  });

  it("drops the oldest lines at its limit, says so, and keeps the totals", () => {
    const bill = new Bill(16_384 * 2);
    for (let index = 0; index < 16_384 * 3; index += 1) bill.add(entry(index));
    const first = page(bill, 0, 1);
    expect(first.firstSequence).toBe(16_384 + 1);
    expect(first.lines[0]).toMatchObject({ sequence: 16_385, requestTag: "tag-16384" });
    const calls = Object.values(first.totals).flatMap((models) => Object.values(models).map((total) => total.calls));
    expect(calls.reduce((sum, count) => sum + count, 0)).toBe(16_384 * 3);
  });

  it("pages past its end without an answer, and is empty after a reset", () => {
    const bill = new Bill();
    bill.add(entry(1));
    expect(page(bill, 1, 10)).toMatchObject({ lines: [], nextSequence: 1, hasMore: false });
    expect(page(bill, 99, 10)).toMatchObject({ lines: [], nextSequence: 1, hasMore: false });
    expect(page(bill, 0, 0)).toMatchObject({ lines: [], nextSequence: 0, hasMore: true });
    bill.reset();
    expect(page(bill, 0, 10)).toMatchObject({ lines: [], totals: {} });
    expect(bill.add(entry(2))).toBe(1);
  });
});
