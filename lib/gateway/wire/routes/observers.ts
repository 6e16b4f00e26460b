/** Which observer reads the stream of a route. */
import { AnthropicStreamObserver } from "./anthropic-stream";
import { ChatStreamObserver } from "./chat-stream";
import { GeminiStreamObserver } from "./gemini-stream";
import { MediaStreamObserver } from "./media-stream";
import { ResponsesStreamObserver } from "./responses-stream";
import type { RouteKind } from "./route-request";
import type { StreamObserver } from "./stream-observer";

/** Undefined where the route has no streams. */
export function streamObserver(kind: RouteKind): StreamObserver | undefined {
  switch (kind) {
    case "chat":
    case "completion":
      return new ChatStreamObserver(kind);
    case "responses":
      return new ResponsesStreamObserver();
    case "image":
    case "speech":
    case "transcription":
      return new MediaStreamObserver(kind);
    case "messages":
      return new AnthropicStreamObserver();
    case "gemini":
      return new GeminiStreamObserver();
    default:
      return undefined;
  }
}
