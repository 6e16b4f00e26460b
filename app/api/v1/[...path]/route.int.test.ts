/** Keys with an address list where Next alone hosts the gateway, which is not told who holds the connection. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestBench } from "@/lib/testing/running-gateway";
import { startTestBench } from "@/lib/testing/running-gateway";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { GET } from "./route";

const LISTED = "192.0.2.7";
let bench: TestBench;
beforeAll(async () => {
  bench = await startTestBench(await testDatabaseUrl(), testRedisUrl());
});
afterAll(() => bench.close());

async function statusOf(trustedProxies: readonly string[], secret: string, forwardedFor: string): Promise<number> {
  // The gateway of this process, as the route finds it.
  Object.assign(globalThis, { spillwayGateway: await bench.gateway({ trustedProxies }) });
  const headers = { authorization: `Bearer ${secret}`, "x-forwarded-for": forwardedFor };
  return (await GET(new Request("http://gateway.test/api/v1/me", { headers }))).status;
}

describe("a key with an address list on plain Next", () => {
  it("is refused where no proxy is trusted, whatever the caller wrote; a key without a list is not", async () => {
    const { apiKey } = await bench.organisation({ key: { allowedIps: [LISTED] } });
    const { apiKey: open } = await bench.organisation();
    expect(await statusOf([], apiKey.secret, LISTED)).toBe(403);
    expect(await statusOf([], open.secret, LISTED)).toBe(200);
  });

  it("is judged by the rightmost hop that is no trusted proxy", async () => {
    const { apiKey } = await bench.organisation({ key: { allowedIps: [LISTED] } });
    expect(await statusOf(["10.0.0.0/8"], apiKey.secret, `203.0.113.1, ${LISTED}, 10.0.0.5`)).toBe(200);
    expect(await statusOf(["10.0.0.0/8"], apiKey.secret, `${LISTED}, 203.0.113.1, 10.0.0.5`)).toBe(403);
  });
});
