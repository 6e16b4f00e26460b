/** The deployment form's state and the input it becomes. Pure. */
import { issuesByPath } from "@/components/format/issues";
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

type Checked =
  | { readonly ok: true; readonly input: UpsertDeploymentInput }
  | { readonly ok: false; readonly errors: Readonly<Record<string, string>> };

/** A number as typed; undefined for what is none, so that the contract names the field. */
function numberOf(text: string): number | undefined {
  return /^\d{1,9}(?:\.\d{1,3})?$/u.test(text.trim()) ? Number(text) : undefined;
}

function msOf(text: string): number | undefined {
  const seconds = numberOf(text);
  return seconds === undefined ? undefined : Math.round(seconds * 1000);
}

export function toInput(draft: DeploymentDraft, providerId: string): Checked {
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
  const parsed = upsertDeploymentInput.safeParse({ ...numbers, modelId, providerId, upstreamModel, region, disabled });
  const errors = {
    ...(parsed.success ? {} : issuesByPath(parsed.error.issues)),
    ...Object.fromEntries(unread.map((field) => [field, "number_malformed"])),
  };
  // What the contract says of a number's size has no words of its own.
  for (const field of ["priority", "weight", "timeoutMs", ...Object.values(STEP_TIMEOUTS)])
    if (field in errors && errors[field] !== "number_malformed") errors[field] = "number_out_of_range";
  return parsed.success && Object.keys(errors).length === 0 ? { ok: true, input: parsed.data } : { ok: false, errors };
}
