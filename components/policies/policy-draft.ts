/** The policy form's state, from a document. Texts as typed; an empty field is a setting that is not said. Pure. */
import { laddersOf } from "@/components/ladders/ladder-draft";
import type { LadderDraft } from "@/components/ladders/ladder-draft";
import { perMillion } from "@/components/prices/rate-text";
import { nanosToDecimal } from "@/lib/domain/money";
import type { ModelListEntry, PolicyDocument } from "@/lib/domain/policy";

/** A model as it is asked for (it may hold *), and the one that a downgrade serves in its place. */
export interface DowngradePair {
  readonly asked: string;
  readonly served: string;
}

export interface PolicyDraft {
  readonly outputCapTokens: string;
  readonly clientGone: "" | "cut" | "drain";
  readonly unknownOutcome: "" | "hold" | "input";
  readonly reserveMode: "" | "max" | "incremental";
  readonly sliceTokens: string;
  readonly marginTokens: string;
  readonly sessionCost: string;
  readonly sessionRequests: string;
  readonly sessionIdle: string;
  readonly sessionRequired: boolean;
  readonly answerKeepSeconds: string;
  readonly retryWindowSeconds: string;
  readonly defers: boolean;
  readonly deadlineSeconds: string;
  readonly keepSeconds: string;
  readonly hasFallbackPrice: boolean;
  readonly fallbackCurrency: string;
  readonly fallbackInput: string;
  readonly fallbackOutput: string;
  readonly allow: string;
  readonly deny: string;
  readonly regions: string;
  readonly downgrade: readonly DowngradePair[];
  readonly ladders: readonly LadderDraft[];
  readonly fallbacks: string;
  readonly staticEn: string;
  readonly staticZh: string;
}
/** Fields that are typed as text. */
export type TextSetting = {
  [Name in keyof PolicyDraft]: string extends PolicyDraft[Name] ? Name : never;
}[keyof PolicyDraft];

const numberText = (value: number | undefined): string => (value === undefined ? "" : String(value));
const linesText = (values: readonly string[] | undefined): string => (values ?? []).join("\n");
const modelText = (entry: ModelListEntry): string =>
  typeof entry === "string" ? entry : `${entry.pattern} [${entry.classes.join(", ")}]`;
const mapText = (map: Readonly<Record<string, readonly string[]>> | undefined): string =>
  Object.entries(map ?? {})
    .map(([asked, served]) => `${asked} -> ${served.join(", ")}`)
    .join("\n");
const millionText = (rate: string | undefined): string => (rate === undefined ? "" : perMillion(rate));

export function draftOf(document: PolicyDocument): PolicyDraft {
  const { reserve, session, deferral, fallbackPrice } = document;
  return {
    outputCapTokens: numberText(document.outputCapTokens),
    clientGone: document.clientGone ?? "",
    unknownOutcome: document.unknownOutcome ?? "",
    reserveMode: reserve?.mode ?? "",
    sliceTokens: numberText(reserve?.sliceTokens),
    marginTokens: numberText(reserve?.marginTokens),
    sessionCost: session?.costNanos === undefined ? "" : nanosToDecimal(BigInt(session.costNanos)),
    sessionRequests: numberText(session?.requests),
    sessionIdle: numberText(session?.idleSeconds),
    sessionRequired: session?.isRequired ?? false,
    answerKeepSeconds: numberText(document.answerKeepSeconds),
    retryWindowSeconds: numberText(document.retryWindowSeconds),
    defers: deferral !== undefined,
    deadlineSeconds: numberText(deferral?.deadlineSeconds),
    keepSeconds: numberText(deferral?.keepSeconds),
    hasFallbackPrice: fallbackPrice !== undefined,
    fallbackCurrency: fallbackPrice?.currency ?? "",
    fallbackInput: millionText(fallbackPrice?.rates.inputPerToken),
    fallbackOutput: millionText(fallbackPrice?.rates.outputPerToken),
    allow: linesText(document.models?.allow?.map(modelText)),
    deny: linesText(document.models?.deny?.map(modelText)),
    regions: linesText(document.regions),
    downgrade: Object.entries(document.downgrade ?? {}).map(([asked, served]) => ({ asked, served })),
    ladders: laddersOf(document),
    fallbacks: mapText(document.fallbacks),
    staticEn: document.staticText?.["en"] ?? "",
    staticZh: document.staticText?.["zh-CN"] ?? "",
  };
}
