import { expect, it } from "vitest";
import { canariesIn, canary } from "./canaries";

it.each([0, 1, 2])(
  "finds a canary in base64 behind %i bytes, in hexadecimal and as it is, and nothing else",
  (offset) => {
    const canaries = { one: canary("One"), other: canary("Other") };
    const around = Buffer.from(`${"x".repeat(offset)}${canaries.one}yz`);
    expect(canariesIn(around.toString("base64"), canaries)).toEqual(["one"]);
    expect(canariesIn(around.toString("hex"), canaries)).toEqual(["one"]);
    expect(canariesIn(around.toString(), canaries)).toEqual(["one"]);
    expect(canariesIn("canary", canaries)).toEqual([]);
  },
);
