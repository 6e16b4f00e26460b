/** Errors of the provider: what the caller sees, and that the hold returns. */
import { expect, it } from "vitest";
import type { GatewayHost } from "./host";
import { callerOf, post, raw, settled, USER } from "./host";

export function survivesUpstream(host: () => GatewayHost): void {
  const cases: readonly (readonly [string, Record<string, unknown>, number, string])[] = [
    [
      "a mistake of the caller passes on",
      { status: 400, errorCode: "context_length_exceeded" },
      400,
      "context_length_exceeded",
    ],
    [
      "a busy provider is a 503 with Retry-After",
      { status: 429, errorCode: "rate_limit_exceeded", retryAfter: 1 },
      503,
      "upstream_error",
    ],
    [
      "an account without money is not the caller's business",
      { status: 429, errorCode: "insufficient_quota", errorMessage: "add credits at vendor" },
      502,
      "upstream_error",
    ],
    [
      "a wrong provider key is not the caller's business",
      { status: 401, errorCode: "invalid_api_key" },
      502,
      "upstream_error",
    ],
    ["a broken provider is a 502", { status: 500, errorCode: "server_error" }, 502, "upstream_error"],
  ];

  it.each(cases)("%s, and the hold returns", async (_name, control, status, code) => {
    const { made } = await callerOf(host());
    const body = JSON.stringify({ model: "sandbox-small", messages: USER, sandbox: control });
    const response = await raw(host(), "/chat/completions", post(made.apiKey.secret, body));
    const text = await response.text();
    expect(response.status).toBe(status);
    expect(text).toContain(code);
    expect(text).not.toContain("add credits");
    // One second as the provider says, up to a fifth later.
    if (status === 503) expect(Number(response.headers.get("retry-after-ms"))).toBeGreaterThanOrEqual(1000);
    if (status === 503) expect(Number(response.headers.get("retry-after-ms"))).toBeLessThanOrEqual(1200);
    await expect.poll(() => settled(host(), made)).toEqual({ settled: 0n, held: 0n });
  });
}
