/** What must be true at the end, without exception: each check counts what breaks it and passes at zero. */
import { verifyRequestTag } from "@/lib/config/request-tag";
import { keysOf } from "@/lib/redis/keys";
import { TEST_PEPPER } from "@/lib/testing/factories";
import type { Company } from "../harness/company";
import { driftOf, readBillLines } from "../harness/laws";
import type { BenchStack } from "../harness/stack";
import type { BookOwner, BudgetStanding, ThreeBooks } from "../harness/three-books";
import { readBooks, readStandings, scanKeys } from "../harness/three-books";
import type { Reconciled } from "./reconcile";
import type { Attempt } from "./traffic";

export interface Check {
  readonly name: string;
  readonly isHeld: boolean;
  readonly detail: string;
}

export interface Findings {
  readonly checks: readonly Check[];
  readonly books: ThreeBooks;
  /** Nanos by which the three books and every counter differ, all differences added up. */
  readonly drift: bigint;
}

interface AttemptRow {
  readonly id: string;
  readonly base_entries: number;
  readonly amount: string;
  readonly outcomes: string;
}

const SHOWN = 5;

function check(name: string, problems: readonly string[], whenHeld: string): Check {
  const more = problems.length > SHOWN ? ` … and ${String(problems.length - SHOWN)} more` : "";
  const detail = problems.length === 0 ? whenHeld : `${problems.slice(0, SHOWN).join("; ")}${more}`;
  return { name, isHeld: problems.length === 0, detail };
}

export async function verify(
  stack: BenchStack,
  companies: readonly (Company & BookOwner)[],
  attempts: readonly Attempt[],
  reconciled: readonly Reconciled[],
  isQuiet: boolean,
): Promise<Findings> {
  const books = await readBooks(stack, companies);
  const standings = await readStandings(stack, companies);
  const billed = await readBilled(stack, companies);
  const booked = await readBooked(stack, companies);
  const apart = standings.filter((one) => one.settled !== one.booked);
  const drift = apart.reduce((sum, one) => sum + absolute(one.settled - one.booked), driftOf(books));
  const checks = [
    check("quiet", isQuiet ? [] : ["streams, leases or holds did not come to rest in time"], "by itself, in time"),
    check("bill, ledger and Redis book", bookProblems(books), "one sum, to the nano, for each model too"),
    check(
      "counters and ledger lines",
      apart.map((one) => `${one.name}: counter is ${String(one.settled - one.booked)} nanos off its lines`),
      `${String(standings.length)} counters agree`,
    ),
    check("nothing is held", await heldProblems(stack, companies, standings), "no hold, no open reservation"),
    check("each attempt ended once", endProblems(billed, booked), `${String(booked.length)} attempts`),
    check("every call of the bill is booked", lineProblems(billed, booked), `${String(billed.size)} lines`),
    check("every answer is booked", answerProblems(attempts, booked), "each 200 stands in the ledger"),
    check("no overspend by admission", await admissionProblems(stack, standings), "overage has a cause, all of it"),
    check("reconcile", reconcileProblems(reconciled), "found no drift; a second run changed nothing"),
  ];
  return { checks, books, drift };
}

function absolute(amount: bigint): bigint {
  return amount < 0n ? -amount : amount;
}

function bookProblems({ bill, ledger, counters, models }: ThreeBooks): string[] {
  const problems = models
    .filter((model) => model.bill !== model.ledger)
    .map((model) => `${model.model}: bill - ledger is ${String(model.bill - model.ledger)} nanos`);
  if (bill !== ledger) problems.push(`bill - ledger is ${String(bill - ledger)} nanos`);
  if (ledger !== counters) problems.push(`ledger - Redis book is ${String(ledger - counters)} nanos`);
  return problems;
}

/** Amount by attempt as the bill has it; an attempt billed twice is listed under its id once more. */
async function readBilled(stack: BenchStack, companies: readonly Company[]): Promise<Map<string, number>> {
  const billed = new Map<string, number>();
  for (const { requestTag } of await readBillLines(stack, companies)) {
    const id = verifyRequestTag(TEST_PEPPER, requestTag ?? "")?.reservationId ?? `untagged ${String(requestTag)}`;
    billed.set(id, (billed.get(id) ?? 0) + 1);
  }
  return billed;
}

async function readBooked(stack: BenchStack, companies: readonly Company[]): Promise<AttemptRow[]> {
  const { rows } = await stack.control.db.pool.query<AttemptRow>(
    `select request_id || ':' || attempt as id, count(*) filter (where kind = 'usage')::int as base_entries,
       sum(price_amount)::text as amount, string_agg(outcome, ', ' order by sequence) as outcomes
     from ledger_entries where organisation_id = any($1) group by 1`,
    [companies.map((company) => company.organisationId)],
  );
  return rows;
}

function endProblems(billed: ReadonlyMap<string, number>, booked: readonly AttemptRow[]): string[] {
  const twice = booked.filter((row) => row.base_entries !== 1);
  // Without a line on the bill a call cost nothing, so its entries must come to nothing.
  const unbilled = booked.filter((row) => !billed.has(row.id) && row.amount !== "0");
  return [
    ...twice.map((row) => `${row.id} has ${String(row.base_entries)} base entries`),
    ...unbilled.map((row) => `${row.id} (${row.outcomes}) is booked at ${row.amount} and not on the bill`),
  ];
}

function lineProblems(billed: ReadonlyMap<string, number>, booked: readonly AttemptRow[]): string[] {
  const known = new Set(booked.map((row) => row.id));
  const missing = [...billed.keys()].filter((id) => !known.has(id));
  const repeated = [...billed].filter(([, lines]) => lines > 1);
  return [
    ...missing.map((id) => `${id} is billed and not booked`),
    ...repeated.map(([id, lines]) => `${id} is on the bill ${String(lines)} times`),
  ];
}

function answerProblems(attempts: readonly Attempt[], booked: readonly AttemptRow[]): string[] {
  const known = new Set(booked.map((row) => row.id.split(":")[0]));
  return attempts
    .filter((one) => one.status === 200 && one.isWhole && one.kind !== "error in stream" && !known.has(one.requestId))
    .map((one) => `${one.requestId} (${one.kind}) was answered and is not booked`);
}

async function heldProblems(
  stack: BenchStack,
  companies: readonly Company[],
  standings: readonly BudgetStanding[],
): Promise<string[]> {
  const problems = standings.filter((one) => one.held !== 0n).map((one) => `${one.name} holds ${String(one.held)}`);
  const { redis } = stack.store;
  for (const { organisationId } of companies) {
    const keys = keysOf(organisationId);
    const counts = [
      ["deadlines", await redis.zcard(keys.deadlines)],
      ["events not booked", await redis.xlen(keys.usage)],
      ["dead events", await redis.xlen(keys.deadUsage)],
      ["open reservations", await countOpen(stack, organisationId)],
    ] as const;
    for (const [what, count] of counts) if (count > 0) problems.push(`${String(count)} ${what}`);
    if ((await redis.get(keys.generation)) !== stack.store.runId()) problems.push("the organisation is still fenced");
  }
  return problems;
}

async function countOpen(stack: BenchStack, organisationId: string): Promise<number> {
  const keys = await scanKeys(stack, `${keysOf(organisationId).prefix}r:*`);
  const states = await Promise.all(keys.map((key) => stack.store.redis.get(key)));
  return states.filter((state) => state?.startsWith("p")).length;
}

/**
 * What admissions took never exceeds the limit: everything above it must be an answer dearer than its hold, a correction
 * upwards, or a call that was booked without a hold (late, or from the bill).
 */
async function admissionProblems(stack: BenchStack, standings: readonly BudgetStanding[]): Promise<string[]> {
  const problems: string[] = [];
  for (const one of standings.filter((standing) => standing.enforcement === "enforce")) {
    const above = one.settled - one.limit - one.overflow - one.grants;
    if (above <= 0n) continue;
    const caused = await causedOverage(stack, one);
    if (above > caused) problems.push(`${one.name} is ${String(above)} nanos over, ${String(caused)} have a cause`);
  }
  return problems;
}

/** Nanos that were booked to a budget in a period without being held for. */
async function causedOverage(stack: BenchStack, standing: BudgetStanding): Promise<bigint> {
  const { rows } = await stack.control.db.pool.query<{ amount: string }>(
    `select coalesce(sum(case when l.kind <> 'usage' then greatest((line->>'a')::bigint, 0)
         when l.counter_sequence is not null then (line->>'a')::bigint else l.overage_amount end), 0)::text as amount
     from ledger_entries l, jsonb_array_elements(l.lines) line
     where l.organisation_id = $1 and line->>'b' = $2 and line->>'p' = $3`,
    [standing.organisationId, standing.budgetId, standing.periodId],
  );
  return BigInt(rows[0]?.amount ?? "0");
}

function reconcileProblems(reconciled: readonly Reconciled[]): string[] {
  return reconciled.flatMap(({ organisationId, first, second }) => {
    if (first === null || second === null) return [`${organisationId} could not be reconciled`];
    const problems: string[] = [];
    if (second.corrections !== 0) problems.push(`a second run booked ${String(second.corrections)} corrections more`);
    if (!second.isQuiet) problems.push(`${String(second.unresolved)} lines of the bill unresolved, or not quiet`);
    if (second.failedProviders.length > 0) problems.push("a bill could not be read");
    if (second.mismatches > 0) problems.push(`${String(second.mismatches)} counters differ from the ledger`);
    for (const [currency, drift] of second.driftByCurrency) {
      if (drift !== 0n) problems.push(`it reports ${String(drift)} nanos of drift in ${currency}`);
    }
    return problems.map((problem) => `${organisationId}: ${problem}`);
  });
}
