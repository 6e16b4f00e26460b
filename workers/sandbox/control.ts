/**
 * The sandbox control: what a caller may ask the sandbox to do with one call. It arrives as JSON in the header
 * `x-sandbox` (or `x-sandbox-control`), as an object in the body field `sandbox`, or as a JSON string in
 * `metadata.sandbox`; the first found counts, whole. A control with an unknown field or a value out of range is refused,
 * so a typo in a test is loud.
 */
import { problemOf, type SandboxControl } from "./control-fields";

export class ControlError extends Error {}

export const NO_CONTROL: SandboxControl = {};

/** Parsed headers by their text: a load test sends the same one a million times. */
const parsedHeaders = new Map<string, SandboxControl>();
const MAX_PARSED_HEADERS = 1_000;

/** The control of a call. Throws `ControlError` with a message for the caller. */
export function readControl(header: string | undefined, body: Readonly<Record<string, unknown>>): SandboxControl {
  if (header !== undefined) return controlOfHeader(header);
  if (body.sandbox !== undefined) {
    return typeof body.sandbox === "string" ? parseControlText(body.sandbox) : parseControl(body.sandbox);
  }
  const metadata = body.metadata;
  if (typeof metadata !== "object" || metadata === null || !("sandbox" in metadata)) return NO_CONTROL;
  if (typeof metadata.sandbox !== "string") throw new ControlError("metadata.sandbox must be a string of JSON");
  return parseControlText(metadata.sandbox);
}

function controlOfHeader(header: string): SandboxControl {
  const known = parsedHeaders.get(header);
  if (known !== undefined) return known;
  const control = parseControlText(header);
  if (parsedHeaders.size >= MAX_PARSED_HEADERS) parsedHeaders.clear();
  parsedHeaders.set(header, control);
  return control;
}

function parseControlText(text: string): SandboxControl {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ControlError("the sandbox control is not JSON");
  }
  return parseControl(value);
}

function parseControl(value: unknown): SandboxControl {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ControlError("the sandbox control must be an object");
  }
  for (const [name, field] of Object.entries(value)) {
    const problem = problemOf(name, field);
    if (problem !== undefined) throw new ControlError(`sandbox control: ${name} ${problem}`);
  }
  return value;
}
