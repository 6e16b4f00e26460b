/** What happened in a run, in numbers, and what the checks found. */
import type { Company } from "../harness/company";
import { booksTable } from "../harness/laws";
import { countBy } from "../harness/load";
import type { BenchSession } from "../harness/session";
import type { BenchStack } from "../harness/stack";
import { moneyText, tableText } from "../harness/table";
import type { Fleet } from "./fleet";
import type { Attempt } from "./traffic";
import type { Findings } from "./verify";

interface LedgerCounts {
  readonly entries: string;
  readonly estimated: string;
  readonly corrected: string;
  readonly late: string;
  readonly from_bill: string;
  readonly expired: string;
  readonly overage: string;
}

async function readCounts(stack: BenchStack, companies: readonly Company[]): Promise<LedgerCounts | undefined> {
  const { rows } = await stack.control.db.pool.query<LedgerCounts>(
    `select count(*) filter (where kind = 'usage') as entries,
       count(*) filter (where kind = 'usage' and is_estimated) as estimated,
       count(*) filter (where kind = 'correction') as corrected,
       count(*) filter (where counter_sequence is not null and outcome <> 'reconciled') as late,
       count(*) filter (where kind = 'usage' and outcome = 'reconciled') as from_bill,
       count(*) filter (where kind = 'usage' and outcome in ('expired', 'unknown') and status_code is null) as expired,
       coalesce(sum(overage_amount), 0)::text as overage
     from ledger_entries where organisation_id = any($1)`,
    [companies.map((company) => company.organisationId)],
  );
  return rows[0];
}

/** Kinds whose answer states its usage: a gateway that gave one whole knew what it cost. */
const STATED = new Set(["success", "slow success", "stream", "slow stream", "long stream"]);

/** Whole answers that the ledger knows by an estimate or by the bill alone: what a gateway knew of them died with it. */
async function countForgotten(stack: BenchStack, attempts: readonly Attempt[]): Promise<number> {
  const ids = attempts.filter((one) => STATED.has(one.kind) && one.status === 200 && one.isWhole);
  const { rows } = await stack.control.db.pool.query<{ count: number }>(
    `select count(*)::int as count from ledger_entries base where base.kind = 'usage' and base.request_id = any($1)
       and (base.is_estimated or base.outcome = 'reconciled')
       and not exists (select 1 from ledger_entries c where c.request_id = base.request_id and c.outcome = 'ok')`,
    [ids.map((one) => one.requestId)],
  );
  return rows[0]?.count ?? 0;
}

/** By what happened to them: read whole, hung up by us, no answer, refused. */
function fate(attempt: Attempt): string {
  if (attempt.isHungUp) return "hung up";
  if (attempt.status === 0) return "no answer";
  if (attempt.status === 200) return attempt.isWhole ? "answered" : "broken off";
  return String(attempt.status);
}

function callsTable(attempts: readonly Attempt[]): string {
  const fates = countBy(attempts, fate).map(([word]) => word);
  const rows = countBy(attempts, (attempt) => attempt.kind).map(([kind, count]) => {
    const own = attempts.filter((attempt) => attempt.kind === kind);
    return [kind, count, ...fates.map((word) => own.filter((attempt) => fate(attempt) === word).length)];
  });
  const all = fates.map((word) => attempts.filter((attempt) => fate(attempt) === word).length);
  return tableText(["calls", "all", ...fates], [...rows, ["all", attempts.length, ...all]]);
}

export async function printRun(
  session: BenchSession,
  stack: BenchStack,
  companies: readonly Company[],
  attempts: readonly Attempt[],
  fleet: Fleet,
): Promise<void> {
  const kills = fleet.counts;
  const steady = new Set(fleet.steadyUrls());
  const ofSteady = attempts.filter((attempt) => steady.has(attempt.url));
  session.say(callsTable(attempts));
  const counts = await readCounts(stack, companies);
  const rows: [string, string | number][] = [
    ["calls", attempts.length],
    ["of them tried again", attempts.filter((attempt) => attempt.isRetry).length],
    ["gateways killed", kills.gatewayKills],
    ["gateways that stood still past their lease", kills.gatewayFreezes],
    ["worker killed", kills.workerKills],
    ["Redis killed and rolled back", kills.redisKills],
    ["processes started again", kills.restarts],
    ["base entries", counts?.entries ?? "?"],
    ["entries estimated", counts?.estimated ?? "?"],
    ["of them expired or of unknown outcome", counts?.expired ?? "?"],
    ["entries corrected", counts?.corrected ?? "?"],
    ["whole answers known by estimate or bill alone", await countForgotten(stack, attempts)],
    ["of them of gateways that lived throughout", await countForgotten(stack, ofSteady)],
    ["booked late", counts?.late ?? "?"],
    ["booked from the bill", counts?.from_bill ?? "?"],
    ["overage (answers dearer than their hold), USD", moneyText(BigInt(counts?.overage ?? "0"))],
  ];
  session.say(tableText(["run", "count"], rows));
}

export function printFindings(session: BenchSession, findings: Findings): void {
  session.say(booksTable(findings.books));
  // Not a table: what a broken check found may be long.
  const width = Math.max(...findings.checks.map((one) => one.name.length));
  const lines = findings.checks.map(
    (one) => `${one.isHeld ? "holds " : "BROKEN"}  ${one.name.padEnd(width)}  ${one.detail}`,
  );
  session.say(`\n${lines.join("\n")}\n`);
}
