/** API keys from outside: what a stranger may send as a key, over real sockets, is a 401 that says and costs nothing. */
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hashApiKey } from "@/lib/config/key-hash";
import { createApiKey } from "@/lib/control/api-keys";
import { publishAll } from "@/lib/control/snapshots";
import { composeApiKey } from "@/lib/domain/api-key";
import type { TestOrganisation } from "@/lib/testing/factories";
import { TEST_PEPPER, testPrincipal } from "@/lib/testing/factories";
import type { TestBench } from "@/lib/testing/running-gateway";
import { startTestBench } from "@/lib/testing/running-gateway";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import type { LeanHost } from "@/workers/host/lean-host";
import { startLeanHost } from "@/workers/host/lean-host";

let bench: TestBench;
let host: LeanHost;
let made: TestOrganisation;
const faults: unknown[] = [];

beforeAll(async () => {
  bench = await startTestBench(await testDatabaseUrl(), testRedisUrl());
  const gateway = await bench.gateway({ onFault: (error) => faults.push(error) });
  host = await startLeanHost({ gateway, host: "127.0.0.1", port: 0 });
  made = await bench.organisation();
});
afterAll(async () => {
  await host.close();
  await bench.close();
});

interface RawAnswer {
  readonly status: number;
  readonly body: string;
}

/** Sends the bytes as they are: HTTP clients would refuse or repair them. */
function send(headerLines: readonly string[], path = "/v1/me"): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect(host.port, "127.0.0.1");
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => (text += chunk));
    socket.on("error", reject);
    socket.on("close", () => {
      const [, status = "0"] = /^HTTP\/1\.1 (\d{3})/u.exec(text) ?? [];
      resolve({ status: Number(status), body: text.slice(text.indexOf("\r\n\r\n") + 4) });
    });
    const lines = [`GET ${path} HTTP/1.1`, "host: gateway.test", ...headerLines, "connection: close", "", ""];
    socket.write(Buffer.from(lines.join("\r\n"), "latin1"));
  });
}

/** One more secret for a key, of a text we choose: the control plane makes its own. */
async function giveSecret(apiKeyId: string, text: string): Promise<void> {
  await bench.control.db.pool.query(
    `INSERT INTO api_key_secrets (hash, api_key_id, organisation_id, prefix, last_four) VALUES ($1, $2, $3, '', '')`,
    [hashApiKey(TEST_PEPPER, text), apiKeyId, made.organisationId],
  );
}

describe("API keys from outside", () => {
  it("two keys that share sixty characters and differ in one are two callers (CVE-2026-35030)", async () => {
    const other = await createApiKey(bench.control, testPrincipal, {
      organisationId: made.organisationId,
      appId: made.consumers.app,
      name: "the other",
      environment: "production",
      trafficClass: "general",
      entitledClasses: [],
      expiresAtMs: null,
      allowedIps: [],
    });
    const shared = "s".repeat(60);
    const keys = ["A", "B", "C"].map((last) => composeApiKey("production", made.organisationId, `${shared}${last}`));
    const [first = "", second = "", nobodys = ""] = keys;
    await giveSecret(made.apiKey.id, first);
    await giveSecret(other.apiKey.id, second);
    await publishAll(bench.control, made.organisationId, { force: true });
    const nameOf = async (key: string) => {
      const { status, body } = await send([`authorization: Bearer ${key}`]);
      return status === 200 ? (JSON.parse(body) as { key: { id: string } }).key.id : status;
    };
    await expect.poll(() => nameOf(first)).toBe(made.apiKey.id);
    // In turn and again, so that whatever is remembered of one would show in the other.
    for (let round = 0; round < 3; round += 1) {
      expect(await Promise.all([nameOf(first), nameOf(second), nameOf(nobodys)])).toEqual([
        made.apiKey.id,
        other.apiKey.id,
        401,
      ]);
    }
  });

  it("injection, wildcards, patterns, paths and other people's formats look like any unknown key (CVE-2026-42208)", async () => {
    const wellFormed = composeApiKey("production", made.organisationId, "0".repeat(32));
    const elsewhere = composeApiKey("production", "zz9nobody", "0".repeat(32));
    const wrongWalls = made.apiKey.secret.replace("sw_live_", "sw_test_");
    const texts = [
      "' or 1=1 --",
      "'; DROP TABLE api_keys; --",
      '" OR ""="',
      "%_%_%",
      "*",
      "sw_live_*",
      `sw_live_${made.organisationId}_*`,
      `sw_live_${made.organisationId}`,
      `sw_live_{${made.organisationId}}_x`,
      "../../etc/passwd",
      "${jndi:ldap://127.0.0.1/a}",
      '{"$ne":null}',
      "null",
      "undefined",
      "__proto__",
      "sk-proj-abcdef",
      "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.",
      `${made.apiKey.secret} ${made.apiKey.secret}`,
      `${made.apiKey.secret}%00`,
      made.apiKey.secret.toUpperCase(),
      hashApiKey(TEST_PEPPER, made.apiKey.secret),
      wellFormed,
      elsewhere,
      wrongWalls,
      "x".repeat(8000),
      `sw_live_${"a".repeat(4000)}`,
    ];
    const seen = new Set<string>();
    for (const text of texts) {
      for (const header of [`authorization: Bearer ${text}`, `x-api-key: ${text}`, `api-key: ${text}`]) {
        const { status, body } = await send([header]);
        expect({ header: header.slice(0, 80), status }).toEqual({ header: header.slice(0, 80), status: 401 });
        seen.add(body.replace(/req_[0-9a-z]+/gu, ""));
      }
    }
    for (const header of [
      "authorization: Basic dXNlcjpwYXNz",
      "authorization: Bearer",
      "authorization:",
      "x-api-key:",
    ]) {
      const { status, body } = await send([header]);
      expect({ header, status }).toEqual({ header, status: 401 });
      seen.add(body.replace(/req_[0-9a-z]+/gu, ""));
    }
    // One text for all of them, so none is repeated in its answer either.
    expect(seen.size).toBe(1);
  });

  it("control characters, broken lines and oversized headers are refused, by the server or as no key", async () => {
    const { secret } = made.apiKey;
    expect((await send([`authorization: Bearer ${secret}`])).status).toBe(200);
    for (const [header, wanted] of [
      [`authorization: Bearer ${secret}\u0000`, [400]],
      [`authorization: Bearer \u0000${secret}`, [400]],
      [`authorization: Bearer ${secret}\u0001`, [400, 401]],
      [`authorization: Bearer ${secret}\u007F`, [400, 401]],
      [`authorization: Bearer ${secret}\u00A0`, [400, 401]],
      [`authorization: Bearer ${secret}\r x: y`, [400]],
      [`authorization: Bearer\r\n ${secret}`, [400, 401]],
      [`authorization: Bearer ${secret.slice(0, 20)}\u00E9${secret.slice(20)}`, [401]],
      [`authorization: Bearer ${"x".repeat(20_000)}`, [431]],
      [`x-api-key: ${"x".repeat(20_000)}`, [431]],
      [Array.from({ length: 2000 }, (_, n) => `x-${n}: ${"v".repeat(20)}`).join("\r\n"), [431]],
    ] as const) {
      const { status } = await send([header]);
      expect({ header: header.slice(0, 90), ok: (wanted as readonly number[]).includes(status), status }).toMatchObject(
        { ok: true },
      );
    }
  });

  it("a key sent twice is not a way to be somebody else", async () => {
    const { secret } = made.apiKey;
    const other = await bench.organisation();
    const bodies = await Promise.all([
      send([`authorization: Bearer ${secret}`, `authorization: Bearer ${other.apiKey.secret}`]),
      send([`authorization: Bearer nonsense`, `x-api-key: ${secret}`]),
    ]);
    // Node keeps the first of two Authorization headers; what is never right is a mixture.
    expect([200, 401]).toContain(bodies[0].status);
    expect(bodies[0].body).not.toContain(other.organisationId);
    expect(bodies[1].status).toBe(401);
  });

  it("none of it was an error of ours, and nothing was sent to a provider", async () => {
    expect(faults).toEqual([]);
    const calls = (await (await fetch(`${bench.sandbox.url}/calls`)).json()) as { byPath: Record<string, number> };
    expect(calls.byPath).toEqual({});
  });
});
