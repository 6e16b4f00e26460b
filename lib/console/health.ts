/** Whether the web process can do its work. Says which store is away, and nothing about why. */
import { getConsoleServices } from "@/lib/wiring/console";

export interface Health {
  readonly ready: boolean;
  readonly checks: { readonly postgres: "up" | "down"; readonly redis: "up" | "down" };
}

export async function readHealth(): Promise<Health> {
  const { postgres, redis } = await getConsoleServices().ping();
  return { ready: postgres && redis, checks: { postgres: postgres ? "up" : "down", redis: redis ? "up" : "down" } };
}
