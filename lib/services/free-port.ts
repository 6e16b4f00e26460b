import { createServer } from "node:net";

/** A port that nothing listens on at this moment. */
export function freePort(host = "127.0.0.1"): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, host, () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

/** Whether we could listen there. `false` means that someone else does, or that we may not. */
export async function portIsFree(port: number, host = "127.0.0.1"): Promise<boolean> {
  return (await portProblem(port, host)) === undefined;
}

/** The code of what keeps us from listening there (EADDRINUSE, EACCES, EADDRNOTAVAIL, ...); undefined where nothing does. */
export function portProblem(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "unknown reason"));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}
