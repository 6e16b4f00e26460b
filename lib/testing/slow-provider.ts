/** A provider that streams words for ever, one event in two milliseconds, in the shape of Anthropic or of OpenAI's chat. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

interface Shape {
  readonly opening: readonly object[];
  readonly word: (word: string) => object;
}

const SHAPES: Readonly<Record<"anthropic" | "chat", Shape>> = {
  anthropic: {
    opening: [
      {
        type: "message_start",
        message: {
          ...{ id: "msg_1", type: "message", role: "assistant", model: "m", content: [] },
          ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens: 3, output_tokens: 1 } },
        },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ],
    word: (text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
  },
  chat: {
    opening: [],
    word: (content) => ({
      ...{ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m" },
      choices: [{ index: 0, delta: { content }, finish_reason: null }],
    }),
  },
};

function eventText(data: object): string {
  const name = "type" in data ? `event: ${String(data.type)}\n` : "";
  return `${name}data: ${JSON.stringify(data)}\n\n`;
}

export interface SlowProvider {
  readonly url: string;
  /** Streams that nobody has closed. */
  readonly open: () => number;
  close(): Promise<void>;
}

export async function startSlowProvider(shape: keyof typeof SHAPES): Promise<SlowProvider> {
  let open = 0;
  const server = createServer((_request, response) => {
    const { opening, word } = SHAPES[shape];
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(opening.map(eventText).join(""));
    open += 1;
    let number = 0;
    const timer = setInterval(() => {
      response.write(eventText(word(`w${String(number)} `)));
      number += 1;
    }, 2);
    response.on("close", () => {
      open -= 1;
      clearInterval(timer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    open: () => open,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
}
