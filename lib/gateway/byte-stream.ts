/**
 * Bytes on their way from a provider to a client, handed on in the call in which they arrive: no promise and no queue in
 * between, which would cost more than all that is done with an event. Who cannot take more says so and asks again later.
 */

/** Who takes the bytes. Its methods do not throw. */
export interface ByteSink {
  /** False where no more should come before `resume` is called; what is under way may still come. */
  write(bytes: Uint8Array): boolean;
  /** That was all. */
  end(): void;
  /** Broken off: there will be no more. */
  fail(error: Error): void;
}

/** Where they come from. Its methods do not throw. */
export interface ByteStream {
  /** Lets them come; at most once. What is there already is written before this returns. */
  start(sink: ByteSink): void;
  /** Goes on after a `write` that was answered with false; does nothing otherwise. */
  resume(): void;
  /** Nobody takes them any more: the sink is not called again. Also before `start`, and after the end. */
  cancel(): void;
}

export function isByteStream(body: object | string): body is ByteStream {
  return typeof body === "object" && "start" in body;
}

/** Bytes that are all there. */
export function streamOfBytes(bytes: Uint8Array): ByteStream {
  let isCancelled = false;
  return {
    start: (sink) => {
      if (!isCancelled) sink.write(bytes);
      if (!isCancelled) sink.end();
    },
    resume: () => undefined,
    cancel: () => {
      isCancelled = true;
    },
  };
}

/** For hosts that speak Web: at the pace at which it is read. */
export function webStreamOf(stream: ByteStream): ReadableStream<Uint8Array> {
  let isStarted = false;
  return new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (isStarted) {
        stream.resume();
        return;
      }
      isStarted = true;
      stream.start({
        write: (bytes) => {
          controller.enqueue(bytes);
          return (controller.desiredSize ?? 0) > 0;
        },
        end: () => {
          controller.close();
        },
        fail: (error) => {
          controller.error(error);
        },
      });
    },
    cancel: () => {
      stream.cancel();
    },
  });
}
