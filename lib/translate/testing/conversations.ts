/** Random requests and answers of the part that both shapes have, in their canonical form. */
import fc from "fast-check";

const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,8}$/u);
/** Objects as their own JSON gives them back. */
const input = fc
  .dictionary(name, fc.oneof(text, fc.boolean(), fc.integer(), fc.constant(null), fc.array(fc.integer())), {
    maxKeys: 3,
  })
  .map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>);
const address = fc.constantFrom(
  "https://example.com/a.png",
  "data:image/png;base64,iVBORw0KGgo=",
  "data:image/jpeg;base64,/9j/4AAQ",
);

/** Members that are not stated are not there. */
function optional<T>(member: string, value: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> {
  return fc.option(value, { nil: undefined }).map((item) => (item === undefined ? {} : { [member]: item }));
}

function merged(...parts: fc.Arbitrary<object>[]): fc.Arbitrary<Record<string, unknown>> {
  return fc.tuple(...parts).map((items) => Object.assign({}, ...items) as Record<string, unknown>);
}

const textPart = text.map((value) => ({ type: "text", text: value }));
const imagePart = address.map((url) => ({ type: "image_url", image_url: { url } }));
const toolId = fc.uuid().map((id) => `call_${id}`);

const userMessage = fc
  .oneof(text, fc.array(fc.oneof(textPart, imagePart), { minLength: 1, maxLength: 3 }))
  .map((content) => ({ role: "user", content }));
const plainAssistant = fc
  .oneof(text, fc.array(textPart, { minLength: 1, maxLength: 2 }))
  .map((content) => ({ role: "assistant", content }));
const toolTurn = fc
  .tuple(
    fc.oneof(text, fc.constant(null), fc.array(textPart, { minLength: 2, maxLength: 3 })),
    fc.array(
      fc.tuple(
        toolId,
        name,
        input,
        fc.oneof(text, fc.constant(""), fc.array(textPart, { minLength: 1, maxLength: 2 })),
      ),
      {
        minLength: 1,
        maxLength: 3,
      },
    ),
  )
  .map(([content, calls]) => [
    {
      role: "assistant",
      content,
      tool_calls: calls.map(([id, called, args]) => ({
        id,
        type: "function",
        function: { name: called, arguments: JSON.stringify(args) },
      })),
    },
    ...calls.map(([id, , , result]) => ({ role: "tool", tool_call_id: id, content: result })),
  ]);
const systemMessage = fc
  .oneof(text, fc.array(textPart, { minLength: 1, maxLength: 2 }))
  .map((content) => ({ role: "system", content }));

const tool = merged(
  fc.record({ name, parameters: input.map((properties) => ({ type: "object", properties })) }),
  optional("description", text),
  optional("strict", fc.boolean()),
).map((called) => ({ type: "function", function: called }));

const toolMembers = fc.oneof(
  fc.constant({}),
  merged(
    fc.array(tool, { minLength: 1, maxLength: 3 }).map((tools) => ({ tools })),
    fc.oneof(
      fc.constant({}),
      fc.constant({ tool_choice: "none" }),
      merged(
        fc
          .oneof<fc.Arbitrary<unknown>[]>(
            fc.constantFrom("auto", "required"),
            name.map((called) => ({ type: "function", function: { name: called } })),
          )
          .map((tool_choice) => ({ tool_choice })),
        optional("parallel_tool_calls", fc.boolean()),
      ),
    ),
  ),
);

/** OpenAI chat requests of which every member has an exact counterpart. */
export const chatRequests = merged(
  fc
    .tuple(
      fc.array(systemMessage, { maxLength: 1 }),
      fc.array(
        fc.oneof(
          userMessage.map((item) => [item]),
          plainAssistant.map((item) => [item]),
          toolTurn,
        ),
        { maxLength: 5 },
      ),
      userMessage,
    )
    .map(([system, turns, last]) => ({ messages: [...system, ...turns.flat(), last] })),
  fc.record({ model: name, max_completion_tokens: fc.integer({ min: 1, max: 100_000 }) }),
  optional("temperature", fc.double({ min: 0, max: 1, noNaN: true })),
  optional("top_p", fc.double({ min: 0, max: 1, noNaN: true })),
  optional(
    "stop",
    fc.array(
      text.filter((item) => item.trim() !== ""),
      { minLength: 1, maxLength: 4 },
    ),
  ),
  fc.constantFrom({}, { stream: false }, { stream: true, stream_options: { include_usage: true } }),
  toolMembers,
  optional("user", text),
).map((request) => JSON.parse(JSON.stringify(request)) as Record<string, unknown>);

const tokens = fc.nat(100_000);

/** Whole Anthropic messages: text first, then calls of tools. */
export const messages = fc
  .record({
    id: name.map((id) => `msg_${id}`),
    model: name,
    texts: fc.array(text, { maxLength: 1 }),
    calls: fc.array(fc.record({ id: toolId, name, input }), { maxLength: 3 }),
    end: fc.constantFrom("end_turn", "max_tokens", "refusal"),
    counts: fc.tuple(tokens, tokens, tokens, tokens),
  })
  .map(({ id, model, texts, calls, end, counts }) => ({
    id,
    type: "message",
    role: "assistant",
    model,
    content: [
      ...texts.map((value) => ({ type: "text", text: value })),
      ...calls.map((call) => ({ type: "tool_use", ...call })),
    ],
    stop_reason: end === "end_turn" && calls.length > 0 ? "tool_use" : end,
    stop_sequence: null,
    usage: {
      input_tokens: counts[0],
      cache_creation_input_tokens: counts[1],
      cache_read_input_tokens: counts[2],
      output_tokens: counts[3],
      output_tokens_details: { thinking_tokens: Math.floor(counts[3] / 2) },
    },
  }));

export type SampleMessage = typeof messages extends fc.Arbitrary<infer T> ? T : never;
