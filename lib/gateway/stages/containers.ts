/**
 * Containers in which a provider runs code and keeps what that wrote (Anthropic's code execution: `container`, by id or as
 * `{ id, skills }`; OpenAI's tools: `container`, `environment.container_id`). They lie in the account of the whole company, as kept
 * answers do.
 */
import type { JsonRequest } from "../wire/routes/route-request";

type Json = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function idOf(container: unknown): string[] {
  const id = isObject(container) ? container.id : container;
  return typeof id === "string" ? [id] : [];
}

function toolsOf({ tools }: Json): Json[] {
  return Array.isArray(tools) ? (tools as unknown[]).filter(isObject) : [];
}

/** Ids of the containers that a body wants to go on in. */
export function containersNamed(body: Json): readonly string[] {
  const ofTools = toolsOf(body).flatMap(({ container, environment }) => [
    ...idOf(container),
    ...(isObject(environment) ? idOf(environment.container_id) : []),
  ]);
  return [...idOf(body.container), ...ofTools];
}

/** Whether the answer may bring one: a tool of the provider's own may run code in it, skills do. */
export function mayBringContainer({ kind, body }: Pick<JsonRequest, "kind" | "body">): boolean {
  if (kind !== "messages") return false;
  return isObject(body.container) || toolsOf(body).some(({ type }) => typeof type === "string" && type !== "custom");
}

/** The container of a message, or of the event in which a stream names it (`message_start`, `message_delta`). */
export function containersOf(answer: unknown): readonly string[] {
  if (!isObject(answer)) return [];
  const places = [answer, answer.message, answer.delta].filter(isObject);
  return places.flatMap(({ container }) => (isObject(container) ? idOf(container) : []));
}
