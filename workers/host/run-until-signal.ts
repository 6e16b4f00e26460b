/** Ends a process cleanly on SIGTERM or SIGINT: once, within a bound, with an exit code that tells the truth. */

const FORCE_AFTER_MS = 30_000;

export function runUntilSignal(close: () => Promise<void>): void {
  let isClosing = false;
  const end = (): void => {
    if (isClosing) return;
    isClosing = true;
    setTimeout(() => process.exit(1), FORCE_AFTER_MS).unref();
    close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on("SIGTERM", end);
  process.on("SIGINT", end);
}

/** One clear sentence for what keeps a server from starting. */
export function startFailure(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const place = `${host}:${String(port)}`;
  if (code === "EADDRINUSE") return `Port ${String(port)} on ${host} is taken by another program.`;
  if (code === "EACCES") return `This user may not listen on ${place}.`;
  return `Could not listen on ${place}: ${error instanceof Error ? error.message : String(error)}`;
}
