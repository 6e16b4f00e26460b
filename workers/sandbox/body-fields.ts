/** Reads fields of a request body; what is not there or null is undefined, what is wrong is refused. */
import { missingField, RequestError, unknownModel } from "./errors";
import type { Endpoint } from "./price-list";
import { findModel, type SandboxModel } from "./prices";

export type Body = Readonly<Record<string, unknown>>;

/** A positive integer of the body, or undefined when it is absent or null. */
export function integerField(body: Body, name: string, max = Infinity, min = 1): number | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
  const wanted = min === 1 ? "a positive integer" : `an integer of at least ${min}`;
  throw new RequestError(400, "invalid_value", `Invalid '${name}': expected ${wanted}.`, name);
}

export function textField(body: Body, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  throw new RequestError(400, "invalid_type", `Invalid type for '${name}': expected a string.`, name);
}

export function requiredText(body: Body, name: string): string {
  const value = textField(body, name);
  if (value === undefined || value === "") throw missingField(name);
  return value;
}

export function choiceField<Choice extends string>(
  body: Body,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const value = textField(body, name);
  if (value === undefined) return undefined;
  const found = choices.find((choice) => choice === value);
  if (found !== undefined) return found;
  const message = `Invalid value: '${value}'. Supported values are: ${choices.map((each) => `'${each}'`).join(", ")}.`;
  throw new RequestError(400, "invalid_value", message, name);
}

/** The model that the body names, which must be one for `endpoint`. */
export function modelField(body: Body, endpoint: Endpoint): SandboxModel {
  const id = body.model;
  if (typeof id !== "string") {
    throw new RequestError(400, "missing_required_parameter", "you must provide a model parameter");
  }
  const model = findModel(id);
  if (model === undefined) throw unknownModel(id);
  if (model.endpoint === endpoint) return model;
  const message =
    endpoint === "chat"
      ? "This is not a chat model and thus not supported in this endpoint."
      : `The model \`${id}\` is not supported in this endpoint.`;
  throw new RequestError(404, null, message, "model");
}

/** Whether a format asks for JSON: `json_object` or `json_schema`. */
export function isJsonFormat(format: unknown): boolean {
  return isRecord(format) && typeof format.type === "string" && format.type.startsWith("json_");
}

export function isRecord(value: unknown): value is Body {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `total` in `parts` as equal as can be, the first ones one larger. */
export function shareOut(total: number, parts: number): number[] {
  if (parts === 1) return [total];
  const least = Math.floor(total / parts);
  return Array.from({ length: parts }, (_, index) => least + (index < total % parts ? 1 : 0));
}
