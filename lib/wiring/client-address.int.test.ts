/** Keys with an address list on the lean host: what the caller writes into `X-Forwarded-For` counts only from a trusted proxy. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestBench } from "@/lib/testing/running-gateway";
import { startTestBench } from "@/lib/testing/running-gateway";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import type { LeanHost } from "@/workers/host/lean-host";
import { startLeanHost } from "@/workers/host/lean-host";

const LISTED = "192.0.2.7";
let bench: TestBench;
beforeAll(async () => {
  bench = await startTestBench(await testDatabaseUrl(), testRedisUrl());
});
afterAll(() => bench.close());

async function statusOf(host: LeanHost, secret: string, forwardedFor?: string): Promise<number> {
  const headers = {
    authorization: `Bearer ${secret}`,
    ...(forwardedFor === undefined ? {} : { "x-forwarded-for": forwardedFor }),
  };
  return (await fetch(`${host.url}/v1/me`, { headers })).status;
}

async function withHost(trustedProxies: readonly string[], act: (host: LeanHost) => Promise<void>): Promise<void> {
  const gateway = await bench.gateway({ trustedProxies });
  const host = await startLeanHost({ gateway, host: "127.0.0.1", port: 0 });
  try {
    await act(host);
  } finally {
    await host.close();
  }
}

describe("a key with an address list on the lean host", () => {
  it("is judged by the peer where no proxy is trusted", async () => {
    const { apiKey } = await bench.organisation({ key: { allowedIps: [LISTED] } });
    const { apiKey: local } = await bench.organisation({ key: { allowedIps: ["127.0.0.1"] } });
    await withHost([], async (host) => {
      expect(await statusOf(host, apiKey.secret, LISTED)).toBe(403);
      expect(await statusOf(host, local.secret, LISTED)).toBe(200);
    });
  });

  it("is judged by the hop in front of a trusted balancer, not by what stands left of it", async () => {
    const { apiKey } = await bench.organisation({ key: { allowedIps: [LISTED] } });
    await withHost(["127.0.0.1"], async (host) => {
      expect(await statusOf(host, apiKey.secret, LISTED)).toBe(200);
      expect(await statusOf(host, apiKey.secret, `203.0.113.1, ${LISTED}`)).toBe(200);
      expect(await statusOf(host, apiKey.secret, `${LISTED}, 203.0.113.1`)).toBe(403);
      expect(await statusOf(host, apiKey.secret)).toBe(403);
    });
  });
});
