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

/** The value of a metric without labels in Prometheus' text; undefined where it cannot be read or is not a number yet. */
export async function gaugeOf(url: string, name: string): Promise<number | undefined> {
  try {
    const response = await fetch(url, { headers: { connection: "close" }, signal: AbortSignal.timeout(2_000) });
    const line = (await response.text()).split("\n").find((one) => one.startsWith(`${name} `));
    const value = Number(line?.slice(name.length + 1) ?? "NaN");
    return Number.isNaN(value) ? undefined : value;
  } catch {
    return undefined;
  }
}
