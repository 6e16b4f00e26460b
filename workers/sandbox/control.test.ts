import { describe, expect, it } from "vitest";
import { ControlError, readControl } from "./control";

describe("readControl", () => {
  it("takes the header first, then the body field, then metadata", () => {
    const body = { sandbox: { promptTokens: 2 }, metadata: { sandbox: '{"promptTokens":3}' } };
    expect(readControl('{"promptTokens":1}', body)).toEqual({ promptTokens: 1 });
    expect(readControl(undefined, body)).toEqual({ promptTokens: 2 });
    expect(readControl(undefined, { metadata: body.metadata })).toEqual({ promptTokens: 3 });
    expect(readControl(undefined, { metadata: { other: "x" } })).toEqual({});
    expect(readControl(undefined, {})).toEqual({});
  });

  it.each([
    "not json",
    "[]",
    "null",
    '{"promptToken":1}',
    '{"promptTokens":-1}',
    '{"promptTokens":1.5}',
    '{"promptTokens":"1"}',
    '{"status":200}',
    '{"fault":"explode"}',
    '{"billAnyway":1}',
    '{"errorCode":7}',
    '{"tokensPerChunk":0}',
  ])("refuses %s", (header) => {
    expect(() => readControl(header, {})).toThrow(ControlError);
    expect(() => readControl(undefined, { metadata: { sandbox: header } })).toThrow(ControlError);
  });

  it("refuses metadata that is not text", () => {
    expect(() => readControl(undefined, { metadata: { sandbox: {} } })).toThrow(ControlError);
  });
});
