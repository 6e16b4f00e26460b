/** The deployment form's state and the input it becomes. Pure. */
import { alsoCheck, checkBy } from "@/components/format/checked";
import type { Checked } from "@/components/format/checked";
import { upsertDeploymentInput } from "@/lib/contracts/models";
import type { DeploymentView, UpsertDeploymentInput } from "@/lib/contracts/models";

/** Texts as typed; times in seconds, empty for the gateway's own. */
export interface DeploymentDraft {
  readonly modelId: string;
  readonly upstreamModel: string;
  readonly priority: string;
  readonly weight: string;
  readonly region: string;
  readonly timeout: string;
  readonly connectTimeout: string;
  readonly firstByteTimeout: string;
  readonly idleTimeout: string;
  readonly disabled: boolean;
}

/** The limits of single steps, and the input fields they become. */
export const STEP_TIMEOUTS = {
  connectTimeout: "connectTimeoutMs",
  firstByteTimeout: "firstByteTimeoutMs",
  idleTimeout: "idleTimeoutMs",
} as const;

function secondsOf(ms: number | null): string {
  return ms === null ? "" : String(ms / 1000);
}

export function draftOf(deployment: DeploymentView): DeploymentDraft {
  return {
    modelId: deployment.modelId,
    upstreamModel: deployment.upstreamModel,
    priority: String(deployment.priority),
    weight: String(deployment.weight),
    region: deployment.region ?? "",
    timeout: secondsOf(deployment.timeoutMs),
    connectTimeout: secondsOf(deployment.connectTimeoutMs),
    firstByteTimeout: secondsOf(deployment.firstByteTimeoutMs),
    idleTimeout: secondsOf(deployment.idleTimeoutMs),
    disabled: deployment.disabled,
  };
}

export function emptyDraft(modelId: string): DeploymentDraft {
  const steps = { connectTimeout: "", firstByteTimeout: "", idleTimeout: "" };
  return {
    modelId,
    upstreamModel: "",
    priority: "0",
    weight: "1",
    region: "",
    timeout: "600",
    ...steps,
    disabled: false,
  };
}

/** A number as typed; undefined for what is none, so that the contract names the field. */
function numberOf(text: string): number | undefined {
  return /^\d{1,9}(?:\.\d{1,3})?$/u.test(text.trim()) ? Number(text) : undefined;
}

function msOf(text: string): number | undefined {
  const seconds = numberOf(text);
  return seconds === undefined ? undefined : Math.round(seconds * 1000);
}

export function toInput(draft: DeploymentDraft, providerId: string): Checked<UpsertDeploymentInput> {
  const numbers: Record<string, number | null | undefined> = {
    priority: numberOf(draft.priority),
    weight: numberOf(draft.weight),
    timeoutMs: msOf(draft.timeout),
  };
  for (const [name, field] of Object.entries(STEP_TIMEOUTS)) {
    const text = draft[name as keyof typeof STEP_TIMEOUTS];
    numbers[field] = text.trim() === "" ? null : msOf(text);
  }
  const unread = Object.entries(numbers).flatMap(([field, value]) => (value === undefined ? [field] : []));
  const { modelId, disabled } = draft;
  const upstreamModel = draft.upstreamModel.trim();
  const region = draft.region.trim() === "" ? null : draft.region.trim();
  const input = { ...numbers, modelId, providerId, upstreamModel, region, disabled };
  const checked = checkBy(upsertDeploymentInput, input);
  // What the contract says of a number's size has no words of its own.
  const faulty = Object.keys(numbers).filter(
    (field) => unread.includes(field) || (!checked.ok && field in checked.errors),
  );
  return alsoCheck(
    checked,
    Object.fromEntries(
      faulty.map((field) => [field, unread.includes(field) ? "number_malformed" : "number_out_of_range"]),
    ),
  );
}
