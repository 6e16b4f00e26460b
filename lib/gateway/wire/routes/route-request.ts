/**
 * What the pipeline needs of a call on any governed route: the members of ParsedRequest, and what is billed beside tokens.
 * A number here is an upper bound of what the provider may bill, never a guess, but for `inputGuess`.
 */
import type { ParsedRequest } from "../openai-request";
import type { Form } from "./form";

/** Whose SDK speaks on the route: the shape of its errors, streams and fixed answers. */
export type Protocol = "openai" | "anthropic" | "gemini";

export type RouteKind =
  | "chat"
  | "responses"
  | "completion"
  | "embedding"
  | "moderation"
  | "rerank"
  | "image"
  | "speech"
  | "transcription"
  | "file"
  | "batch"
  | "passthrough"
  | "messages"
  | "count_tokens"
  | "gemini"
  | "gemini_count";

/** A tool that runs at the provider and has a fee per call besides its tokens. */
export interface ToolFee {
  readonly tool: string;
  /** By the caller's word; null where the provider decides. */
  readonly maxCalls: number | null;
  /** Search context size, where the fee depends on it. */
  readonly size: string | null;
}

export interface ImageOrder {
  readonly count: number;
  readonly size: string | null;
  readonly quality: string | null;
  /** Pictures asked for while one is being made; each costs output tokens. */
  readonly partials: number;
}

export interface RequestExtras {
  /** Input reaches beyond the body (stored context, documents, provider's tools): bound it by the model's context window. */
  readonly isContextUnbounded: boolean;
  /** The answer is made later and fetched with another call. */
  readonly isBackground: boolean;
  /** As asked; what is billed is the tier of the answer. */
  readonly serviceTier: string | null;
  /** Anthropic `speed` and `inference_geo`: multipliers on every token. */
  readonly speed: string | null;
  readonly region: string | null;
  /** The longest cache life the body asks for: its write is dearer than plain input. */
  readonly cacheWriteTtl: "5m" | "1h" | null;
  readonly toolFees: readonly ToolFee[];
  readonly images: ImageOrder | null;
  readonly hasAudioOutput: boolean;
  readonly characters: number;
  readonly audioSeconds: number;
  /** Rerank: documents, and upper bound of search units. */
  readonly documents: number;
  readonly searchUnits: number;
}

export const NO_EXTRAS: RequestExtras = {
  isContextUnbounded: false,
  isBackground: false,
  serviceTier: null,
  speed: null,
  region: null,
  cacheWriteTtl: null,
  toolFees: [],
  images: null,
  hasAudioOutput: false,
  characters: 0,
  audioSeconds: 0,
  documents: 0,
  searchUnits: 0,
};

type SharedMembers =
  | "model"
  | "isStream"
  | "wantsUsage"
  | "outputCap"
  | "choices"
  | "inputBound"
  | "inputGuess"
  | "extraOutput"
  | "endUser";

/** What a parser reads of a body. */
export interface RequestShape extends Pick<ParsedRequest, SharedMembers> {
  readonly kind: RouteKind;
  readonly extras: RequestExtras;
}

/** A call whose body is JSON: patched by splicing, like chat. */
export interface JsonRequest extends RequestShape, Pick<ParsedRequest, "text" | "scan" | "body" | "bodyBytes"> {}

/** A call whose body is a form with files: patched when it is written out again. */
export interface FormRequest extends RequestShape {
  readonly form: Form;
  readonly bodyBytes: number;
}

export type RouteRequest = JsonRequest | FormRequest;

export function isFormRequest(request: RouteRequest): request is FormRequest {
  return "form" in request;
}
