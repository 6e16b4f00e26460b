/** Output items of a responses stream that have begun: what they hold so far, and the events that close them. */
import { isBody } from "./fields";
import type { TypedData } from "./sse-text";
import { numberOr } from "./stream-observer";

type Item = Readonly<Record<string, unknown>>;

interface OpenPart {
  readonly part: Item;
  text: string;
  isOver: boolean;
}

export interface OpenItem {
  item: Item;
  isOver: boolean;
  /** Arguments of a function call. */
  text: string;
  readonly parts: Map<number, OpenPart>;
}

/** The member of a part that its text belongs into. */
function textMember(part: Item): "text" | "refusal" {
  return part.type === "refusal" ? "refusal" : "text";
}

function takePart(item: OpenItem, type: string, event: Item): void {
  const index = numberOr(event.content_index, 0);
  if (type === "response.content_part.added" && isBody(event.part)) {
    item.parts.set(index, { part: event.part, text: "", isOver: false });
    return;
  }
  const part = item.parts.get(index);
  if (!part) return;
  if (type === "response.content_part.done") part.isOver = true;
  else if (/^response\.(output_text|refusal|reasoning_text)\.delta$/u.test(type) && typeof event.delta === "string")
    part.text += event.delta;
}

/** Takes note of an event that concerns an item; others are none of its business. */
export function takeItemEvent(items: Map<number, OpenItem>, type: string, event: Item): void {
  const index = numberOr(event.output_index, -1);
  if (index < 0) return;
  if (type === "response.output_item.added" && isBody(event.item)) {
    items.set(index, { item: event.item, isOver: false, text: "", parts: new Map() });
    return;
  }
  const item = items.get(index);
  if (!item) return;
  if (type === "response.output_item.done" && isBody(event.item)) {
    // The item as a whole; what was gathered of it is not needed any more.
    items.set(index, { item: event.item, isOver: true, text: "", parts: new Map() });
  } else if (type === "response.function_call_arguments.delta" && typeof event.delta === "string") {
    item.text += event.delta;
  } else {
    takePart(item, type, event);
  }
}

function closePart(place: Item, index: number, open: OpenPart): { part: Item; events: TypedData[] } {
  const member = textMember(open.part);
  const part = { ...open.part, [member]: open.text };
  if (open.isOver) return { part, events: [] };
  const at = { ...place, content_index: index };
  const kind = open.part.type === "output_text" ? "output_text" : open.part.type === "refusal" ? "refusal" : undefined;
  const logprobs = kind === "output_text" ? { logprobs: [] } : {};
  const done: TypedData[] = kind ? [{ type: `response.${kind}.done`, ...at, [member]: open.text, ...logprobs }] : [];
  return { part, events: [...done, { type: "response.content_part.done", ...at, part }] };
}

/** The item as it stands, incomplete where it was open, and the events that close it. */
export function closeItem(outputIndex: number, open: OpenItem): { item: Item; events: TypedData[] } {
  if (open.isOver) return { item: open.item, events: [] };
  const place = { item_id: open.item.id, output_index: outputIndex };
  const isCall = open.item.type === "function_call";
  const parts = [...open.parts].map(([index, part]) => closePart(place, index, part));
  const item: Item = {
    ...open.item,
    status: "incomplete",
    ...(isCall ? { arguments: open.text } : {}),
    ...(parts.length > 0 ? { content: parts.map(({ part }) => part) } : {}),
  };
  const call: TypedData = {
    type: "response.function_call_arguments.done",
    ...place,
    name: open.item.name,
    arguments: open.text,
  };
  const events = isCall ? [call] : parts.flatMap(({ events: own }) => own);
  return { item, events: [...events, { type: "response.output_item.done", output_index: outputIndex, item }] };
}
