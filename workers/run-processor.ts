/** Wraps every processor: payload checked, time and result counted, failures logged and handed on. */
import { UnrecoverableError } from "bullmq";
import type { JobName, JobPayload } from "@/lib/queues/jobs";
import { JOBS } from "@/lib/queues/jobs";
import type { WorkerContext } from "./context";
import type { Processors } from "./registry";

/** Throws UnrecoverableError where the payload is not what the job wants: trying again would not help. */
export async function runProcessor(
  context: WorkerContext,
  processors: Processors,
  name: string,
  data: unknown,
): Promise<Record<string, number>> {
  const { deps, metrics } = context.services;
  if (!isJobName(name)) throw new UnrecoverableError(`unknown job ${name}`);
  const endTimer = metrics.jobSeconds.startTimer({ job: name });
  try {
    const result = await runNamed(context, processors, name, data);
    metrics.jobs.inc({ job: name, result: "done" });
    return result;
  } catch (error) {
    metrics.jobs.inc({ job: name, result: "failed" });
    deps.log.error({ err: error, job: name }, "a job failed");
    throw error;
  } finally {
    endTimer();
  }
}

async function runNamed<Name extends JobName>(
  context: WorkerContext,
  processors: Processors,
  name: Name,
  data: unknown,
): Promise<Record<string, number>> {
  const parsed = JOBS[name].payload.safeParse(data);
  if (!parsed.success) throw new UnrecoverableError(`the payload of ${name} is not what it should be`);
  return processors[name](context, parsed.data as JobPayload<Name>);
}

function isJobName(name: string): name is JobName {
  return Object.hasOwn(JOBS, name);
}
