import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BadRequest, type HttpRequest, parseRequest } from "./http-request";

const BODY = '{"text":"预算 ok"}';
const BY_LENGTH =
  `POST /v1/x?a=1 HTTP/1.1\r\nHost: s\r\nAuthorization:  Bearer sandbox-1 \r\nX-Sandbox: {}\r\n` +
  `x-spillway-request: t:1\r\ncontent-length: ${Buffer.byteLength(BODY)}\r\n\r\n${BODY}`;
const CHUNKED = `POST / HTTP/1.1\r\ntransfer-encoding: Chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n \r\nA\r\n0123456789\r\n0\r\n\r\n`;

function complete(text: string): { request: HttpRequest; length: number } {
  const parsed = parseRequest(Buffer.from(text));
  if (parsed.kind !== "complete") throw new Error("incomplete");
  return parsed;
}

describe("parseRequest", () => {
  it("reads request line, known headers and a body by length", () => {
    expect(complete(BY_LENGTH)).toMatchObject({
      length: Buffer.byteLength(BY_LENGTH),
      request: {
        method: "POST",
        target: "/v1/x?a=1",
        headers: { authorization: "Bearer sandbox-1", control: "{}", requestTag: "t:1", expect: undefined },
        body: BODY,
      },
    });
  });

  it("reads a body in chunks, with and without trailers", () => {
    expect(complete(CHUNKED)).toMatchObject({ length: CHUNKED.length, request: { body: "hello 0123456789" } });
    const trailed = CHUNKED.replace(/\r\n$/, "x-sum: 1\r\n\r\n");
    expect(complete(trailed)).toMatchObject({ length: trailed.length, request: { body: "hello 0123456789" } });
  });

  it("reads a request without headers or body", () => {
    expect(complete("GET /health HTTP/1.1\r\n\r\n").request).toMatchObject({
      method: "GET",
      target: "/health",
      body: "",
    });
  });

  it.each([BY_LENGTH, CHUNKED])("waits for the rest of any beginning, and never asks for too much", (text) => {
    const whole = Buffer.from(text);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: whole.length - 1 }), (cut) => {
        const parsed = parseRequest(whole.subarray(0, cut));
        expect(parsed.kind).toBe("incomplete");
        if (parsed.kind === "incomplete") expect(parsed.needed > cut && parsed.needed <= whole.length).toBe(true);
      }),
    );
  });

  it("leaves what follows for the next request", () => {
    expect(complete(`${BY_LENGTH}GET /`).length).toBe(Buffer.byteLength(BY_LENGTH));
    expect(complete(`${CHUNKED}GET /`).length).toBe(CHUNKED.length);
  });

  it.each([
    ["another version", "GET / HTTP/1.0\r\n\r\n", 400],
    ["no target", "GET HTTP/1.1\r\n\r\n", 400],
    ["nonsense", "hello\r\n\r\n", 400],
    ["a header without a name", "GET / HTTP/1.1\r\n: x\r\n\r\n", 400],
    ["two lengths", "POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", 400],
    ["a negative length", "POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 400],
    ["a huge length", "POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n", 413],
    ["an unknown coding", "POST / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", 400],
    ["a chunk without a size", "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", 400],
    ["endless headers", `GET / HTTP/1.1\r\nx: ${"y".repeat(70_000)}`, 400],
  ])("refuses %s", (_name, text, status) => {
    let caught: unknown;
    try {
      parseRequest(Buffer.from(text));
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(BadRequest);
    expect(caught).toMatchObject({ status });
  });
});
