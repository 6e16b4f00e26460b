/** A provider that answers every call alike, which a request to the sandbox cannot ask of one deployment alone. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface AnsweringProvider {
  /** With `/v1`. */
  readonly url: string;
  /** Calls it has got. */
  readonly calls: () => number;
  close(): Promise<void>;
}

export async function startAnsweringProvider(
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<AnsweringProvider> {
  let calls = 0;
  const server = createServer((request, response) => {
    calls += 1;
    request.resume();
    request.on("end", () => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/v1`,
    calls: () => calls,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
