/** Random commands for the money core and random lines of the calls they are about. */
import fc from "fast-check";
import type { ReserveBudget } from "@/lib/domain/reservation";
import { BUDGETS } from "./model-pair";

const METERS = ["cost", "input_tokens", "output_tokens", "total_tokens", "requests"] as const;
const ENFORCEMENTS = ["enforce", "enforce", "enforce", "warn", "shadow"] as const;

export interface CallCommand {
  readonly id: number;
  readonly plans: readonly (readonly (number | null)[] | "denied")[];
}
interface EndCommand {
  readonly id: number;
  readonly isVoid: boolean;
  readonly cost: number;
  readonly tokens: number;
}

export type ReserveLine = Omit<ReserveBudget, "budgetId" | "periodId">;

export type Command =
  | { readonly kind: "reserve"; readonly calls: readonly CallCommand[] }
  | { readonly kind: "conclude"; readonly ends: readonly EndCommand[] }
  | {
      readonly kind: "extend";
      readonly id: number;
      readonly beyond: number;
      readonly amounts: readonly (number | null)[];
    }
  | { readonly kind: "expire"; readonly id: number; readonly cost: number; readonly tokens: number }
  | { readonly kind: "renew"; readonly id: number }
  | {
      readonly kind: "limit";
      readonly budget: number;
      readonly limit: number;
      readonly overflow: number;
      readonly frozen: boolean;
    }
  | { readonly kind: "grant"; readonly budget: number; readonly amount: number; readonly forMs: number }
  | { readonly kind: "end sessions" }
  | { readonly kind: "tick"; readonly ms: number };

/** Tens: sums meet limits and rungs exactly, which is where a comparison can be wrong. */
const amounts = fc.constantFrom(0, 10, 20, 30, 50, 100);
export const scales = fc.constantFrom(1n, 1_000_000_007n, 9_007_199_254_740_993n);

const callArbitrary: fc.Arbitrary<CallCommand> = fc.record({
  id: fc.nat(11),
  plans: fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.tuple(...Array.from({ length: BUDGETS }, () => fc.option(amounts, { freq: 5 }))) },
      { weight: 1, arbitrary: fc.constant("denied" as const) },
    ),
    { minLength: 1, maxLength: 4 },
  ),
});

const endArbitrary: fc.Arbitrary<EndCommand> = fc.record({
  id: fc.nat(11),
  isVoid: fc.boolean(),
  cost: amounts,
  tokens: amounts,
});

/** Batches of one to five: an id may come twice in one, and what a call takes the next one meets. */
export const commandArbitrary: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("reserve" as const),
      calls: fc.array(callArbitrary, { minLength: 1, maxLength: 5 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("conclude" as const),
      ends: fc.array(endArbitrary, { minLength: 1, maxLength: 5 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("extend" as const),
      id: fc.nat(11),
      // The next one mostly; the last one again, and one whose forerunner was never asked for.
      beyond: fc.constantFrom(1, 1, 1, 1, 0, 2),
      amounts: fc.tuple(...Array.from({ length: BUDGETS }, () => fc.option(amounts, { freq: 5 }))),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("expire" as const), id: fc.nat(11), cost: amounts, tokens: amounts }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("renew" as const), id: fc.nat(11) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("limit" as const),
      budget: fc.nat(BUDGETS - 1),
      limit: fc.constantFrom(0, 10, 50, 100, 200),
      overflow: fc.constantFrom(0, 10, 50),
      frozen: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("grant" as const),
      budget: fc.nat(BUDGETS - 1),
      amount: amounts,
      forMs: fc.integer({ min: 1, max: 400 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("end sessions" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("tick" as const), ms: fc.nat(150) }) },
);

const anyLine = fc.record({
  meter: fc.constantFrom(...METERS),
  enforcement: fc.constantFrom(...ENFORCEMENTS),
  steps: fc
    .uniqueArray(
      fc.record({
        atBasisPoints: fc.oneof(
          fc.constantFrom(0, 1000, 3000, 5000, 9000, 10_000),
          fc.integer({ min: 0, max: 12_000 }),
        ),
        plan: fc.nat(3),
      }),
      {
        maxLength: 4,
        selector: (step) => step.atBasisPoints,
      },
    )
    .map((steps) => steps.sort((a, b) => a.atBasisPoints - b.atBasisPoints)),
  overflowPlan: fc.option(fc.nat(1)),
  /** One line of four is what a session may use. */
  session: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constant(100n) }),
  isOfTarget: fc.boolean(),
});

/** A line of a budget says nothing of sessions. */
function withoutNothing({
  session,
  ...line
}: Omit<ReserveLine, "session"> & { session: bigint | undefined }): ReserveLine {
  return session === undefined ? line : { ...line, session };
}

export const lineArbitrary: fc.Arbitrary<ReserveLine> = anyLine.map(withoutNothing);
