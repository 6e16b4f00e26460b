/** What undici tells of an answer, made an UpstreamResponse: whole, or as it comes. */
import type { Dispatcher } from "undici";
import { errors } from "undici";
import type { ByteSink, ByteStream } from "@/lib/gateway/byte-stream";
import { streamOfBytes } from "@/lib/gateway/byte-stream";
import { joined } from "@/lib/gateway/http";
import type { UpstreamResponse } from "@/lib/gateway/ports";
import { UpstreamFailure } from "@/lib/gateway/ports";
import { OutboundRefused } from "@/lib/net/guarded-connect";
import type { BoundedCall, CallDeadlines } from "./call-deadlines";

/** Largest answer kept whole in memory. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

const CONNECT_CODES = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Of a call whose time was up: while it waited for a connection, or later. */
const NOT_SENT = new UpstreamFailure("unserved", "timeout");
const TOOK_TOO_LONG = new UpstreamFailure("unknown", "timeout");

/** Only an error of connecting proves that the request was never sent. */
function failureOf(error: unknown): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error;
  if (error instanceof OutboundRefused || CONNECT_CODES.has(codeOf(error)))
    return new UpstreamFailure("unserved", "connect", error);
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError) {
    return new UpstreamFailure("unknown", "timeout", error);
  }
  if (error instanceof Error && error.name === "AbortError") return new UpstreamFailure("unknown", "aborted", error);
  return new UpstreamFailure("unknown", "closed", error);
}

/** Collects a body, up to the bound. */
class Collector implements ByteSink {
  private readonly parts: Uint8Array[] = [];
  private length = 0;

  constructor(
    private readonly source: ByteStream,
    private readonly resolve: (bytes: Uint8Array) => void,
    private readonly reject: (error: Error) => void,
  ) {}

  write(bytes: Uint8Array): boolean {
    this.length += bytes.length;
    this.parts.push(bytes);
    if (this.length <= MAX_BODY_BYTES) return true;
    this.source.cancel();
    this.reject(new UpstreamFailure("unknown", "closed"));
    return false;
  }

  end(): void {
    this.resolve(joined(this.parts, this.length));
  }

  fail(error: Error): void {
    this.reject(error);
  }
}

/** An error's text that repeats the key we sent is worth less than the key. */
function withoutSecret(status: number, bytes: Uint8Array, secret: string | null): Uint8Array {
  if (status < 400 || secret === null || secret === "") return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(secret) ? new Uint8Array(0) : bytes;
}

/** What may lie unread of an answer that nobody has begun to read. */
const MAX_WAITING_BYTES = 64 * 1024;

/** The answer as it comes: every piece goes to its reader in the call in which the parser has found it. */
export class StreamedAnswer implements Dispatcher.DispatchHandler, UpstreamResponse, ByteStream, BoundedCall {
  bound: BoundedCall["bound"];
  status = 0;
  headers: UpstreamResponse["headers"] = {};
  private controller: Dispatcher.DispatchController | undefined;
  private sink: ByteSink | undefined;
  private waiting: Uint8Array[] = [];
  private waitingBytes = 0;
  /** How it ended: whole, or of what. */
  private ended: "whole" | UpstreamFailure | undefined;
  /** The sink is not called any more. */
  private isOver = false;
  private readonly abort = (): void => {
    this.controller?.abort(new UpstreamFailure("unknown", "aborted"));
  };

  constructor(
    private readonly signal: AbortSignal | undefined,
    private readonly secret: string | null,
    private readonly resolve: (answer: UpstreamResponse) => void,
    private readonly reject: (failure: UpstreamFailure) => void,
    private readonly deadlines: CallDeadlines,
  ) {
    signal?.addEventListener("abort", this.abort);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.signal?.aborted === true) this.abort();
    if (this.ended === NOT_SENT) controller.abort(NOT_SENT);
  }

  late(): void {
    if (this.controller) this.controller.abort(TOOK_TOO_LONG);
    else {
      this.reject(NOT_SENT);
      this.end(NOT_SENT);
    }
  }

  onResponseStart(_controller: unknown, status: number, headers: UpstreamResponse["headers"]): void {
    // Informational answers (RFC 9110 section 15.2) come before the one that counts.
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
    this.resolve(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.isOver) return;
    if (!this.sink) {
      this.waiting.push(chunk);
      this.waitingBytes += chunk.length;
    }
    const hasRoom = this.sink ? this.sink.write(chunk) : this.waitingBytes < MAX_WAITING_BYTES;
    if (!hasRoom) controller.pause();
  }

  onResponseEnd(): void {
    this.end("whole");
  }

  onResponseError(_controller: unknown, error: Error): void {
    const failure = failureOf(error);
    if (this.status === 0) this.reject(failure);
    this.end(failure);
  }

  private end(how: "whole" | UpstreamFailure): void {
    this.deadlines.over(this);
    this.signal?.removeEventListener("abort", this.abort);
    this.ended = how;
    this.tellEnd();
  }

  private tellEnd(): void {
    if (this.isOver || !this.ended || !this.sink) return;
    this.isOver = true;
    if (this.ended === "whole") this.sink.end();
    else this.sink.fail(this.ended);
  }

  get body(): ByteStream {
    return this;
  }

  start(sink: ByteSink): void {
    this.sink = sink;
    const { waiting } = this;
    this.waiting = [];
    let hasRoom = true;
    for (const piece of waiting) if (!this.isOver) hasRoom = sink.write(piece);
    if (hasRoom) this.resume();
    else this.controller?.pause();
    this.tellEnd();
  }

  resume(): void {
    if (!this.ended) this.controller?.resume();
  }

  cancel(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.waiting = [];
    if (!this.ended) this.abort();
  }

  async bytes(): Promise<Uint8Array> {
    const bytes = await new Promise<Uint8Array>((resolve, reject) => {
      this.start(new Collector(this, resolve, reject));
    });
    return withoutSecret(this.status, bytes, this.secret);
  }
}

/** Collects a whole answer without a stream in between, which costs more than everything else the client does. */
export class WholeAnswer implements Dispatcher.DispatchHandler, BoundedCall {
  bound: BoundedCall["bound"];
  private controller: Dispatcher.DispatchController | undefined;
  private isDropped = false;
  private status = 0;
  private headers: UpstreamResponse["headers"] = {};
  private readonly chunks: Buffer[] = [];
  private length = 0;

  constructor(
    private readonly secret: string | null,
    private readonly resolve: (answer: UpstreamResponse) => void,
    private readonly reject: (failure: UpstreamFailure) => void,
    private readonly deadlines: CallDeadlines,
  ) {}

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.isDropped) controller.abort(NOT_SENT);
  }

  late(): void {
    if (this.controller) this.controller.abort(TOOK_TOO_LONG);
    else {
      this.isDropped = true;
      this.reject(NOT_SENT);
    }
  }

  onResponseStart(_controller: unknown, status: number, headers: UpstreamResponse["headers"]): void {
    this.status = status;
    this.headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.length += chunk.length;
    if (this.length > MAX_BODY_BYTES) controller.abort(new UpstreamFailure("unknown", "closed"));
    else this.chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.deadlines.over(this);
    const [only] = this.chunks;
    this.answer(only && this.chunks.length === 1 ? only : Buffer.concat(this.chunks, this.length));
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.deadlines.over(this);
    // An error is an error however its text breaks off: nothing was served.
    if (this.status >= 400) this.answer(new Uint8Array(0));
    else this.reject(failureOf(error));
  }

  private answer(whole: Uint8Array): void {
    const bytes = withoutSecret(this.status, whole, this.secret);
    this.resolve({
      status: this.status,
      headers: this.headers,
      bytes: () => Promise.resolve(bytes),
      body: streamOfBytes(bytes),
    });
  }
}
