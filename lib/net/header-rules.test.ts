import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  billingTagHeaders,
  DEFAULT_HEADER_LIMITS,
  exceededHeaderLimit,
  headerSafe,
  headersForCaller,
  headersForUpstream,
} from "./header-rules";

const SPOOFS: readonly (readonly [string, string])[] = [
  ["Host", "evil.example"],
  ["Authorization", "Bearer sw_live_acme01_secret"],
  ["x-api-key", "sk-ant-secret"],
  ["api-key", "azure-secret"],
  ["x-goog-api-key", "google-secret"],
  ["Cookie", "session=1"],
  ["X-Forwarded-For", "10.0.0.1"],
  ["X-Forwarded-Host", "evil.example"],
  ["Forwarded", "for=10.0.0.1"],
  ["X-Real-IP", "10.0.0.1"],
  ["X-Consumer-ID", "somebody-else"],
  ["X-Cost-Centre", "4711"],
  ["x-spillway-request", "forged"],
  ["x-spillway-class", "core"],
  ["Idempotency-Key", "abc"],
  ["OpenAI-Organization", "org-other"],
  ["OpenAI-Project", "proj-other"],
  ["Transfer-Encoding", "chunked"],
  ["TE", "trailers"],
  ["Upgrade", "h2c"],
  ["Proxy-Authorization", "Basic x"],
  ["Keep-Alive", "timeout=5"],
  ["Content-Length", "0"],
  ["Accept-Encoding", "gzip"],
];

describe("headers on their way upstream", () => {
  it.each(["openai", "anthropic", "gemini"] as const)(
    "nothing of a caller's credentials or claims reaches %s",
    (dialect) => {
      expect(headersForUpstream(SPOOFS, dialect)).toEqual({});
    },
  );

  it("each vendor gets the headers of its own API", () => {
    const sent: [string, string][] = [
      ["OpenAI-Beta", "assistants=v2"],
      ["Anthropic-Version", "2023-06-01"],
      ["Anthropic-Beta", "pdfs-2024-09-25"],
    ];
    expect(headersForUpstream(sent, "openai")).toEqual({ "openai-beta": "assistants=v2" });
    expect(headersForUpstream(sent, "anthropic")).toEqual({
      "anthropic-version": "2023-06-01",
      "anthropic-beta": "pdfs-2024-09-25",
    });
    expect(headersForUpstream(sent, "gemini")).toEqual({});
  });

  it("a header named in Connection is hop-by-hop and stays behind", () => {
    const sent: [string, string][] = [
      ["Connection", "close, OpenAI-Beta"],
      ["openai-beta", "x"],
      ["accept", "application/json"],
    ];
    expect(headersForUpstream(sent, "openai")).toEqual({ accept: "application/json" });
  });

  it("only features the policy knows are asked for, over repeated headers too", () => {
    const sent: [string, string][] = [
      ["anthropic-beta", "fast-mode-2026-02-01, pdfs-2024-09-25"],
      ["anthropic-beta", "files-api-2025-04-14"],
    ];
    const isKnown = (feature: string) => !feature.startsWith("fast-mode");
    expect(headersForUpstream(sent, "anthropic", isKnown)).toEqual({
      "anthropic-beta": "pdfs-2024-09-25,files-api-2025-04-14",
    });
    expect(headersForUpstream([["anthropic-beta", "fast-mode-2026-02-01"]], "anthropic", isKnown)).toEqual({});
  });

  it("of a header that occurs twice the first counts, and unsafe values do not pass", () => {
    const sent: [string, string][] = [
      ["accept", "a\r\nx-injected: 1"],
      ["accept", "application/json"],
      ["accept", "text/html"],
    ];
    expect(headersForUpstream(sent, "openai")).toEqual({ accept: "application/json" });
  });
});

describe("headers on their way back", () => {
  it("nothing of the company's account with the vendor is shown", () => {
    expect(
      headersForCaller({
        "set-cookie": ["__cf_bm=1", "b=2"],
        server: "cloudflare",
        "openai-organization": "acme-inc",
        "openai-project": "proj_1",
        "anthropic-organization-id": "11111111-2222",
        "x-ratelimit-remaining-tokens": "149984",
        "anthropic-ratelimit-requests-limit": "4000",
        "retry-after": "20",
        "retry-after-ms": "20000",
        "cf-ray": "1",
        connection: "keep-alive",
        "content-length": "2",
        "x-spillway-cost": "0",
        "x-should-retry": "true",
        "access-control-allow-origin": "*",
        location: "http://127.0.0.1/",
      }),
    ).toEqual({});
  });

  it("type and processing time pass; the vendor's request id gets a name of its own", () => {
    expect(
      headersForCaller({
        "Content-Type": "text/event-stream",
        "openai-processing-ms": "120",
        "x-request-id": "req_vendor",
        "request-id": undefined,
      }),
    ).toEqual({
      "content-type": "text/event-stream",
      "openai-processing-ms": "120",
      "x-spillway-upstream-request-id": "req_vendor",
    });
  });
});

describe("header limits", () => {
  it("name the limit that is exceeded, at the first header over it", () => {
    const many = (count: number) => Array.from({ length: count }, (_, index): [string, string] => [`x-${index}`, "v"]);
    expect(exceededHeaderLimit(many(100))).toBeUndefined();
    expect(exceededHeaderLimit(many(101))).toBe("maxCount");
    expect(exceededHeaderLimit([["x", "v".repeat(16_384)]])).toBeUndefined();
    expect(exceededHeaderLimit([["x", "v".repeat(16_385)]])).toBe("maxValueBytes");
    expect(exceededHeaderLimit([1, 2, 3].map((n): [string, string] => [`x${n}`, "é".repeat(8_000)]))).toBe(
      "maxTotalBytes",
    );
    expect(exceededHeaderLimit(many(3), { ...DEFAULT_HEADER_LIMITS, maxCount: 2 })).toBe("maxCount");
  });
});

describe("billing tags", () => {
  it("carry consumer and cost centre, in any script, as plain ASCII", () => {
    expect(billingTagHeaders({ consumerId: "con_01", costCentre: "研发 4711" })).toEqual({
      "x-consumer-id": "con_01",
      "x-cost-centre": "%E7%A0%94%E5%8F%91%204711",
    });
    expect(billingTagHeaders({ consumerId: "con_01", costCentre: null })).toEqual({ "x-consumer-id": "con_01" });
  });

  it("no text breaks out of the header, and none is cut within a character", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 400 }), (text) => {
        const safe = headerSafe(text);
        expect(safe).toMatch(/^(?:[A-Za-z0-9\-._~:/@+]|%[0-9A-F]{2})*$/u);
        expect(safe.length).toBeLessThanOrEqual(200);
        expect(
          new TextDecoder()
            .decode(new TextEncoder().encode(text.normalize("NFC")))
            .startsWith(decodeURIComponent(safe)),
        ).toBe(true);
      }),
    );
  });
});
