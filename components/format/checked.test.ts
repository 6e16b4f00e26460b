import { describe, expect, it } from "vitest";
import { z } from "zod";
import { alsoCheck, checkBy } from "./checked";

const schema = z.strictObject({
  name: z.string().trim().min(1, "required"),
  ips: z.array(z.string().min(3, "ip_malformed")),
  claims: z.strictObject({ user: z.string().min(1, "required") }),
});
const good = { name: " a ", ips: ["10.0.0.1"], claims: { user: "sub" } };

describe("a checked draft", () => {
  it("is the input that the contract makes of it", () => {
    expect(checkBy(schema, good)).toEqual({ ok: true, input: { ...good, name: "a" } });
  });

  it("names each field by its path, and a list by its own name whichever entry is wrong", () => {
    const checked = checkBy(schema, { name: "", ips: ["10.0.0.1", "x"], claims: { user: "" } });
    expect(checked).toEqual({
      ok: false,
      errors: { name: "required", ips: "ip_malformed", "claims.user": "required" },
    });
  });

  it("fails on what only the form knows, and keeps what the contract said beside it", () => {
    expect(alsoCheck(checkBy(schema, good), { name: "name_taken" })).toEqual({
      ok: false,
      errors: { name: "name_taken" },
    });
    expect(alsoCheck(checkBy(schema, { ...good, ips: ["x"] }), { name: "name_taken" })).toEqual({
      ok: false,
      errors: { ips: "ip_malformed", name: "name_taken" },
    });
    expect(alsoCheck(checkBy(schema, good), {})).toMatchObject({ ok: true });
  });
});
