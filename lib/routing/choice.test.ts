import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseDeployments, weightedOrder } from "./choice";

/** mulberry32: the same numbers at every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const deployment = (id: string, priority: number, weight: number) => ({ id, priority, weight });
const all = () => "pass" as const;
const ids = (list: readonly { id: string }[]) => list.map((item) => item.id).join(" ");

describe("the choice of deployments", () => {
  it("exhausts a priority before the next", () => {
    const deployments = [
      deployment("last", 2, 1),
      deployment("heavy", 1, 100),
      deployment("light", 1, 1),
      deployment("first", 0, 1),
    ];
    const order = chooseDeployments({ deployments, admissionOf: all, random: () => 0.5 });
    expect(ids(order)).toBe("first heavy light last");
  });

  it("those whose breaker refuses stand aside; a probe takes part", () => {
    const deployments = [deployment("open", 1, 1), deployment("probing", 1, 1), deployment("closed", 2, 1)];
    const order = chooseDeployments({
      deployments,
      admissionOf: ({ id }) => (id === "open" ? "refuse" : id === "probing" ? "probe" : "pass"),
      random: () => 0,
    });
    expect(ids(order)).toBe("probing closed");
  });

  it("shares of first choices follow the weights within three standard deviations", () => {
    const items = [deployment("a", 1, 70), deployment("b", 1, 20), deployment("c", 1, 10), deployment("d", 1, 0)];
    const random = seeded(7);
    const rounds = 20_000;
    const firsts = new Map<string, number>();
    for (let round = 0; round < rounds; round += 1) {
      const first = weightedOrder(items, random)[0]?.id ?? "";
      firsts.set(first, (firsts.get(first) ?? 0) + 1);
    }
    expect(firsts.get("d")).toBeUndefined();
    for (const { id, weight } of items.slice(0, 3)) {
      const share = weight / 100;
      const deviation = Math.sqrt(rounds * share * (1 - share));
      expect(Math.abs((firsts.get(id) ?? 0) - rounds * share)).toBeLessThan(3 * deviation);
    }
  });

  it("every item comes exactly once, and no item without weight before one with", () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(1000), { maxLength: 12 }),
        fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 12, maxLength: 12 }),
        (weights, numbers) => {
          let next = 0;
          const order = weightedOrder(
            weights.map((weight, id) => ({ id, weight })),
            () => numbers[next++ % numbers.length] ?? 0,
          );
          expect(order.map((item) => item.id).sort((a, b) => a - b)).toEqual(weights.map((_, id) => id));
          const firstEmpty = order.findIndex((item) => item.weight === 0);
          if (firstEmpty >= 0) expect(order.slice(firstEmpty).every((item) => item.weight === 0)).toBe(true);
        },
      ),
    );
  });
});
