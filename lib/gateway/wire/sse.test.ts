import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SseSplitter } from "./sse";

const encoder = new TextEncoder();

function split(bytes: Uint8Array, cuts: readonly number[]) {
  const splitter = new SseSplitter();
  const events = [];
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    events.push(...splitter.push(bytes.subarray(from, cut)));
    from = cut;
  }
  const rest = splitter.rest();
  return rest ? [...events, rest] : events;
}

describe("splitting a stream of events", () => {
  it.each(["\n", "\r\n", "\r"])(
    "gives the same events and the same bytes at any chunk boundaries (line end %j)",
    (end) => {
      const text = [`: ping`, ``, `event: x`, `data: {"a":"你好"}`, `data: second`, ``, `data: [DONE]`, ``, ``].join(
        end,
      );
      const bytes = encoder.encode(text);
      fc.assert(
        fc.property(fc.array(fc.nat(bytes.length), { maxLength: 20 }), (cuts) => {
          const events = split(
            bytes,
            cuts.sort((a, b) => a - b),
          );
          expect(Buffer.concat(events.map((event) => event.bytes)).toString()).toBe(text);
          expect(events.map((event) => event.data).filter((data) => data !== "")).toEqual([
            '{"a":"你好"}\nsecond',
            "[DONE]",
          ]);
        }),
      );
    },
  );
});
