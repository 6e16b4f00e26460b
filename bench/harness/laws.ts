/** Laws 1 to 4 of the design, checked at the end of every bench on what the three books really hold. */
import { verifyRequestTag } from "@/lib/config/request-tag";
import { keysOf } from "@/lib/redis/keys";
import { TEST_PEPPER } from "@/lib/testing/factories";
import type { BenchSession } from "./session";
import type { BenchStack } from "./stack";
import { moneyText, tableText } from "./table";
import { billOrigins, excessOf, readBooks, readStandings, scanKeys, waitQuiet } from "./three-books";
import type { BookOwner, BudgetStanding, ThreeBooks } from "./three-books";

export interface Law {
  readonly name: string;
  readonly isHeld: boolean;
  /** What was counted, or what is wrong. */
  readonly detail: string;
}

export interface LawReport {
  readonly laws: readonly Law[];
  readonly isHeld: boolean;
  readonly books: ThreeBooks;
  readonly standings: readonly BudgetStanding[];
  /** Nanos by which all enforced budgets together stand above their limits. */
  readonly excess: bigint;
  /** Largest difference between two of the three books, in nanos. */
  readonly drift: bigint;
}

export interface LawOptions {
  /** Request ids of calls that were answered 200: each must stand in the ledger once. */
  readonly answered?: readonly string[];
  /** Routes whose calls the provider does not put on its bill: their ledger entries need no line there. */
  readonly unbilledRoutes?: readonly string[];
  readonly quietTimeoutMs?: number;
}

interface BillLine {
  readonly requestTag: string | null;
  readonly key: string;
}

/** Waits for quiet, reads the books, prints them and every law with its count. */
export async function checkLaws(
  session: BenchSession,
  stack: BenchStack,
  owners: readonly BookOwner[],
  options: LawOptions = {},
): Promise<LawReport> {
  session.say("waiting until the usage streams are booked and nothing is held");
  const isQuiet = await waitQuiet(stack, owners, options.quietTimeoutMs);
  if (!isQuiet) session.say("it did not become quiet in time; the books are read as they are");
  const books = await readBooks(stack, owners);
  const standings = await readStandings(stack, owners);
  const drift = driftOf(books);
  const laws = [
    noOverspend(standings),
    booksAgree(books, standings, drift),
    await billedOnce(stack, owners, options),
    await reservationsEnded(stack, owners, standings),
  ];
  session.say(booksTable(books));
  session.say(
    tableText(
      ["law", "held", "counted"],
      laws.map((law) => [law.name, law.isHeld ? "yes" : "NO", law.detail]),
    ),
  );
  const excess = standings.filter((one) => one.enforcement === "enforce").reduce((sum, one) => sum + excessOf(one), 0n);
  return { laws, isHeld: laws.every((law) => law.isHeld), books, standings, excess, drift };
}

export function driftOf({ bill, ledger, counters }: ThreeBooks): bigint {
  const sums = [bill, ledger, counters];
  const high = sums.reduce((a, b) => (a > b ? a : b));
  const low = sums.reduce((a, b) => (a < b ? a : b));
  return high - low;
}

export function booksTable(books: ThreeBooks): string {
  const head = ["model", "bill calls", "ledger calls", "bill USD", "ledger USD", "counters USD"];
  const rows = books.models.map((book) => [
    book.model,
    book.billCalls,
    book.ledgerCalls,
    moneyText(book.bill),
    moneyText(book.ledger),
    "",
  ]);
  const calls = (of: "billCalls" | "ledgerCalls"): number => books.models.reduce((sum, book) => sum + book[of], 0);
  const total = ["all", calls("billCalls"), calls("ledgerCalls")];
  const sums = [moneyText(books.bill), moneyText(books.ledger), moneyText(books.counters)];
  return tableText(head, [...rows, [...total, ...sums]]);
}

function noOverspend(standings: readonly BudgetStanding[]): Law {
  const enforced = standings.filter((standing) => standing.enforcement === "enforce");
  const over = enforced.filter((standing) => excessOf(standing) > 0n);
  const words = over.map((one) => `${one.name} (${one.organisationId}) is ${String(excessOf(one))} nanos over`);
  return {
    name: "1 no overspend",
    isHeld: over.length === 0,
    detail: over.length === 0 ? `${String(enforced.length)} enforced budgets within their limits` : words.join("; "),
  };
}

function booksAgree(books: ThreeBooks, standings: readonly BudgetStanding[], drift: bigint): Law {
  const apart = standings.filter((standing) => standing.settled !== standing.booked);
  const byModel = books.models.filter((book) => book.bill !== book.ledger);
  const problems = [
    ...(drift === 0n ? [] : [`${String(drift)} nanos between the books`]),
    ...byModel.map((book) => `${book.model}: bill - ledger is ${String(book.bill - book.ledger)} nanos`),
    ...apart.map(
      (one) => `${one.name} (${one.organisationId}): counter - lines is ${String(one.settled - one.booked)} nanos`,
    ),
  ];
  return {
    name: "2 three books agree",
    isHeld: problems.length === 0,
    detail:
      problems.length === 0
        ? `to the nano, and ${String(standings.length)} counters with their ledger lines`
        : problems.join("; "),
  };
}

/** Lines of the sandboxes' bills that belong to these companies. */
export async function readBillLines(stack: BenchStack, owners: readonly BookOwner[]): Promise<BillLine[]> {
  const labels = new Set(owners.map((owner) => owner.billLabel));
  const lines: BillLine[] = [];
  for (const origin of billOrigins(stack, owners)) {
    let since = 0;
    for (let hasMore = true; hasMore;) {
      const response = await fetch(`${origin}/bill?since=${String(since)}&limit=50000`);
      const page = (await response.json()) as { lines: BillLine[]; nextSequence: number; hasMore: boolean };
      lines.push(...page.lines.filter((line) => labels.has(line.key)));
      ({ nextSequence: since, hasMore } = page);
    }
  }
  return lines;
}

interface BookedAttempt {
  readonly id: string;
  readonly request: string;
  readonly route: string;
  readonly entries: string;
  readonly failed: boolean | null;
}

async function billedOnce(stack: BenchStack, owners: readonly BookOwner[], options: LawOptions): Promise<Law> {
  const { answered = [], unbilledRoutes = [] } = options;
  const billed = new Map<string, number>();
  let strangers = 0;
  for (const { requestTag } of await readBillLines(stack, owners)) {
    const parts = verifyRequestTag(TEST_PEPPER, requestTag ?? "");
    if (parts === undefined) strangers += 1;
    else billed.set(parts.reservationId, (billed.get(parts.reservationId) ?? 0) + 1);
  }
  const { rows } = await stack.control.db.pool.query<BookedAttempt>(
    `select request_id || ':' || attempt as id, request_id as request, min(route) as route, count(*) as entries,
       bool_and(usage->>'requests' = '0') as failed
       from ledger_entries where organisation_id = any($1) and kind = 'usage' group by 1, 2`,
    [owners.map((owner) => owner.organisationId)],
  );
  const booked = new Set(rows.map((row) => row.id));
  // An attempt that failed at no cost is a fact of the ledger and on nobody's bill.
  const unbilled = new Set(rows.filter((row) => row.failed || unbilledRoutes.includes(row.route)).map((row) => row.id));
  const requests = new Set(rows.filter((row) => !row.failed).map((row) => row.request));
  const counts: [count: number, problem: string][] = [
    [strangers, "bill lines without our tag"],
    [[...billed.values()].filter((count) => count > 1).length, "attempts billed twice"],
    [[...billed.keys()].filter((id) => !booked.has(id)).length, "bill lines without a ledger entry"],
    [[...booked].filter((id) => !billed.has(id) && !unbilled.has(id)).length, "ledger entries without a bill line"],
    [rows.filter((row) => row.entries !== "1").length, "attempts booked twice"],
    [answered.filter((id) => !requests.has(id)).length, "answered calls without a ledger entry"],
    [answered.length - new Set(answered).size, "request ids given twice"],
  ];
  const problems = counts.filter(([count]) => count > 0).map(([count, problem]) => `${String(count)} ${problem}`);
  return {
    name: "3 billed once",
    isHeld: problems.length === 0,
    detail:
      problems.length === 0 ? `${String(billed.size)} bill lines, each with one ledger entry` : problems.join("; "),
  };
}

/** Reservations that no script has ended. */
async function countOpen(stack: BenchStack, organisationId: string): Promise<number> {
  const { redis } = stack.store;
  const keys = await scanKeys(stack, `${keysOf(organisationId).prefix}r:*`);
  let open = 0;
  for (let from = 0; from < keys.length; from += 5_000) {
    const states = await Promise.all(keys.slice(from, from + 5_000).map((key) => redis.get(key)));
    open += states.filter((state) => state?.startsWith("p")).length;
  }
  return open;
}

async function reservationsEnded(
  stack: BenchStack,
  owners: readonly BookOwner[],
  standings: readonly BudgetStanding[],
): Promise<Law> {
  const { redis } = stack.store;
  const sum = { open: 0, due: 0, dead: 0, waiting: 0 };
  for (const { organisationId } of owners) {
    const keys = keysOf(organisationId);
    sum.open += await countOpen(stack, organisationId);
    sum.due += await redis.zcard(keys.deadlines);
    sum.dead += await redis.xlen(keys.deadUsage);
    sum.waiting += await redis.xlen(keys.usage);
  }
  const held = standings.filter((standing) => standing.held !== 0n);
  const counts: [count: number, problem: string][] = [
    [sum.open, "open reservations"],
    [sum.due, "deadlines of reservations"],
    [sum.dead, "usage events that the ledger refused"],
    [sum.waiting, "usage events not yet booked"],
    [held.length, `budgets with money held (${held.map((one) => `${one.name} ${String(one.held)}`).join(", ")})`],
  ];
  const problems = counts.filter(([count]) => count > 0).map(([count, problem]) => `${String(count)} ${problem}`);
  return {
    name: "4 reservations ended",
    isHeld: problems.length === 0,
    detail: problems.length === 0 ? "nothing open, nothing held" : problems.join("; "),
  };
}
