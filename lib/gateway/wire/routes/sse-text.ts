/** Server-sent events as text, as each protocol writes them. */

/** OpenAI chat and Gemini: data alone. */
export function dataEvent(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

export interface TypedData extends Readonly<Record<string, unknown>> {
  readonly type: string;
}

/** OpenAI responses and Anthropic: the name of the event is the `type` of its data. */
export function typedEvent(data: TypedData): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}

export const DONE_EVENT = "data: [DONE]\n\n";
