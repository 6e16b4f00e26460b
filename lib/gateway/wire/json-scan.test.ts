import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { patchJson, scanJson } from "./json-scan";

describe("members of a JSON text", () => {
  it("finds the span of each top-level value whatever the white space", () => {
    const text = '{ "a" : [1, {"b":2}] ,\n"c":"x\\"}", "d" : -1.0e5 }';
    const { members } = scanJson(text);
    expect([...members].map(([name, span]) => [name, text.slice(span.start, span.end)])).toEqual([
      ["a", '[1, {"b":2}]'],
      ["c", '"x\\"}"'],
      ["d", "-1.0e5"],
    ]);
  });

  it.each(['{"model":"a","model":"b"}', '{"model":"a","mod\\u0065l":"b"}', '{"x":[{"y":1,"y":2}]}'])(
    "reports a name that occurs twice: %s",
    (text) => {
      expect(scanJson(text).duplicate).toBeDefined();
    },
  );

  it("does not take the same name in different objects for a duplicate", () => {
    expect(scanJson('{"a":{"x":1},"b":{"x":1},"c":[{"x":1},{"x":1}]}').duplicate).toBeUndefined();
  });

  it("keeps every other byte when a member is replaced or added", () => {
    const text = '{"temperature":1.0, "seed": 123456789012345678901234567890, "model":"a"}';
    expect(patchJson(text, scanJson(text), { model: '"b"', max_tokens: "5" })).toBe(
      '{"max_tokens":5,"temperature":1.0, "seed": 123456789012345678901234567890, "model":"b"}',
    );
    expect(patchJson("{}", scanJson("{}"), { model: '"b"' })).toBe('{"model":"b"}');
  });

  it("agrees with JSON.parse on any object", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const text = JSON.stringify(value, null, 2);
        const { members, duplicate } = scanJson(text);
        expect(duplicate).toBeUndefined();
        expect(members.size).toBe(Object.keys(value).length);
        for (const [name, span] of members) {
          expect(JSON.parse(text.slice(span.start, span.end))).toEqual(JSON.parse(text)[name]);
        }
      }),
    );
  });
});
