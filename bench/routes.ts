/**
 * Nobody gets past the money: for every route of the gateway's own table and every reason to refuse, a key in that state is
 * answered with that reason, the provider sees nothing (its counters say so, call by call), and nothing is held or booked.
 * Before that a key which is refused nothing reaches the provider on every route: else zero calls would prove nothing.
 */
import { setTimeout as delay } from "node:timers/promises";
import { batchFileId, noteBatchFiles } from "./routes/batch-files";
import type { RefusedKey } from "./routes/company";
import { makeCompanies } from "./routes/company";
import type { Reason } from "./routes/reasons";
import { EXPIRES_IN_MS, REASONS, USE } from "./routes/reasons";
import { readRouteList } from "./routes/route-list";
import type { Sample } from "./routes/samples";
import { FREE_ROUTES, SAMPLES, UNBILLED_ROUTES } from "./routes/samples";
import { callSample, holdPlace, readMoney, upstreamCalls, useUp } from "./routes/calls";
import type { Answer } from "./routes/calls";
import { checkLaws } from "./harness/laws";
import type { Bench, BenchSession } from "./harness/session";
import { startBenchStack } from "./harness/stack";
import type { BenchStack } from "./harness/stack";
import { tableText } from "./harness/table";
import { waitQuiet } from "./harness/three-books";

interface Cell extends Answer {
  readonly sample: Sample;
  readonly reason: Reason;
  readonly upstream: number;
  readonly isRight: boolean;
}

/** Money is 402 to Anthropic's SDK, which retries every 429. */
function expectedStatus(reason: Reason, sample: Sample): number {
  const isMoney = reason.code.endsWith("_EXHAUSTED");
  return isMoney && sample.route.startsWith("messages") ? 402 : reason.status;
}

function isExpected(answer: Answer, reason: Reason, sample: Sample): boolean {
  // A rung that answers with a fixed text refuses where a text cannot stand for the answer.
  if (reason.name === "rung static" && answer.decision === "static") return answer.status === 200;
  // Behind the path of a pass-through there is a model of that name, or nothing.
  if (reason.code === "model_not_found" && sample.route === "passthrough") return answer.code === "not_found";
  return answer.status === expectedStatus(reason, sample) && answer.code === reason.code;
}

/** Calls with each sample. `reached`: those that were served, by one call of the provider. */
async function callHealthy(
  session: BenchSession,
  stack: BenchStack,
  secret: string,
): Promise<{ readonly reached: ReadonlySet<Sample>; readonly answered: readonly string[] }> {
  const reached = new Set<Sample>();
  const answered: string[] = [];
  const rows: (string | number)[][] = [];
  let fileId = "";
  for (const sample of SAMPLES) {
    const before = await upstreamCalls(stack);
    const answer = await callSample(stack, sample, { secret, fileId });
    const upstream = (await upstreamCalls(stack)) - before;
    if (sample.route === "files") fileId = answer.id;
    if (answer.status === 200 && !FREE_ROUTES.includes(sample.route)) answered.push(answer.requestId);
    if (upstream === 1 && answer.status === 200) reached.add(sample);
    rows.push([nameOf(sample), answer.status, upstream]);
  }
  session.say(tableText(["a key that is refused nothing", "status", "upstream calls"], rows));
  return { reached, answered };
}

function nameOf(sample: Sample): string {
  const { path, body } = sample.call(sample.model.name);
  const name = path.startsWith("models/") ? path.replace(/^models\/[^:]+/u, "models/*") : path;
  if (typeof body !== "string") return `${name} (form)`;
  const ways = ["stream", "background"].filter((way) => body.includes(`"${way}":true`));
  return [name, ...ways.map((way) => `(${way})`)].join(" ");
}

/** All samples with a key in one state. */
async function callRefused(stack: BenchStack, { reason, company, key }: RefusedKey): Promise<readonly Cell[]> {
  const owners = [company];
  if (reason.isUsed) await useUp(stack, key.secret, USE);
  const place = reason.isBusy ? await holdPlace(stack, key.secret) : undefined;
  // The served call must have been booked, or its booking would look like one of a refused call.
  if (!place) await waitQuiet(stack, owners);
  let money = await readMoney(stack, owners);
  const secret = reason.presented?.(key, company.organisationId) ?? key.secret;
  const cells: Cell[] = [];
  for (const sample of SAMPLES) {
    const model = reason.modelName?.(sample.model.name) ?? sample.model.name;
    const callsBefore = await upstreamCalls(stack);
    const fileId = batchFileId(company.nodes.get(key.app) ?? "", model);
    const answer = await callSample(stack, sample, { secret, model, headers: reason.headers ?? {}, fileId });
    const upstream = (await upstreamCalls(stack)) - callsBefore;
    const isUntouched = (await readMoney(stack, owners)) === money;
    const isRight = isExpected(answer, reason, sample) && upstream === 0 && isUntouched;
    if (!isUntouched) {
      // What one call moved is not held against the next.
      if (!place) await waitQuiet(stack, owners);
      money = await readMoney(stack, owners);
    }
    cells.push({ ...answer, sample, reason, upstream, isRight });
  }
  await place?.leave();
  return cells;
}

/** Route by reason: the status of each, with the calls upstream where there were any. */
function printMatrix(session: BenchSession, cells: readonly Cell[]): void {
  session.say(
    tableText(
      ["route", "column"],
      SAMPLES.map((sample, index) => [nameOf(sample), index + 1]),
    ),
  );
  const head = ["reason", "code", ...SAMPLES.map((_, index) => String(index + 1)), "upstream", "right"];
  const rows = REASONS.map((reason) => {
    const own = cells.filter((cell) => cell.reason === reason);
    const upstream = own.reduce((sum, cell) => sum + cell.upstream, 0);
    const right = own.filter((cell) => cell.isRight).length;
    const statuses = own.map((cell) => `${String(cell.status)}${cell.isRight ? "" : "!"}`);
    return [reason.name, reason.code, ...statuses, upstream, `${String(right)}/${String(own.length)}`];
  });
  session.say(tableText(head, rows));
  for (const { reason, sample, status, code, upstream } of cells.filter((cell) => !cell.isRight)) {
    session.say(`WRONG: ${reason.name}, ${nameOf(sample)}: ${String(status)} ${code}, ${String(upstream)} upstream`);
  }
}

/** Paths of the table that are not served: the healthy key is told so and reaches nobody. */
async function areShut(session: BenchSession, stack: BenchStack, paths: readonly string[], secret: string) {
  const before = await upstreamCalls(stack);
  const statuses = await Promise.all(
    paths.map(async (path) => {
      const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
      const answer = await fetch(`${stack.gateways[0]?.url ?? ""}/v1/${path}`, { method: "POST", headers, body: "{}" });
      await answer.arrayBuffer();
      return answer.status;
    }),
  );
  const upstream = (await upstreamCalls(stack)) - before;
  session.say(`not served: ${paths.join(", ")} (${statuses.join(", ")}, ${String(upstream)} upstream calls)`);
  return upstream === 0 && statuses.every((status) => status === 404);
}

export const bench: Bench = async (session) => {
  const routes = readRouteList();
  const withoutSample = routes.governed.filter((route) => !SAMPLES.some((sample) => sample.route === route));
  const strangers = SAMPLES.filter(({ route }) => !routes.governed.includes(route)).map(({ route }) => route);
  if (withoutSample.length > 0) session.say(`routes of the table without a sample: ${withoutSample.join(", ")}`);
  if (strangers.length > 0) session.say(`samples without a route in the table: ${strangers.join(", ")}`);
  const stack = await startBenchStack(session, { gateways: 1 });
  session.say("making two companies with a key in every state");
  const { companies, refused, healthy } = await makeCompanies(stack, REASONS);
  await delay(EXPIRES_IN_MS);
  await noteBatchFiles(stack, refused);
  const { reached, answered } = await callHealthy(session, stack, healthy);
  // The batch ends in its own time, and must not move what the refused calls are compared by.
  await waitQuiet(stack, companies);
  const isShut = await areShut(
    session,
    stack,
    [...routes.unserved, "uploads", "messages/batches", "files/file-1/versions"],
    healthy,
  );
  session.say(
    `${String(refused.length)} reasons by ${String(SAMPLES.length)} calls of ${String(routes.governed.length)} routes`,
  );
  const cells: Cell[] = [];
  for (const one of refused) cells.push(...(await callRefused(stack, one)));
  printMatrix(session, cells);
  const report = await checkLaws(session, stack, companies, { answered, unbilledRoutes: UNBILLED_ROUTES });
  const isGoverned = (route: string): boolean => {
    const own = SAMPLES.filter((sample) => sample.route === route);
    const all = cells.filter((cell) => cell.sample.route === route);
    return own.length > 0 && own.every((one) => reached.has(one)) && all.every((cell) => cell.isRight);
  };
  const governed = routes.governed.filter(isGoverned).length;
  const isWhole = refused.length === REASONS.length && strangers.length === 0;
  const isPass = governed === routes.governed.length && isWhole && isShut && report.isHeld;
  return { figure: `${String(governed)} of ${String(routes.governed.length)} governed`, bar: "all", isPass };
};
