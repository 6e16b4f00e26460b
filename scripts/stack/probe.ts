import { get } from "node:http";
import { connect } from "node:net";

/**
 * Whether something answers this address with success. On a connection of its own, closed at once: `fetch` keeps its
 * connections, and a server that drains politely would wait for them when it is asked to stop.
 */
export function answersOk(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: 5_000, headers: { connection: "close" } }, (response) => {
      response.resume();
      resolve((response.statusCode ?? 500) < 300);
    });
    request.once("timeout", () => request.destroy());
    request.once("error", () => resolve(false));
  });
}

/** Whether something listens there. */
export function listens(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 1_000 });
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
    socket.once("timeout", () => end(false));
  });
}
