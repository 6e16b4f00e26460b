import { Redis } from "ioredis";
import { reasonOf, ServiceError } from "@/lib/services/service-error";

/** A Redis that is given must be there and must never evict: a counter that vanishes is money spent twice. */
export async function checkRedis(url: string): Promise<void> {
  if (!/^rediss?:\/\//.test(url) || !URL.canParse(url)) {
    throw new ServiceError("REDIS_URL is not an address like redis://user:password@host:6379/0.");
  }
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 5_000 });
  let reason = "";
  client.on("error", (error) => (reason = reasonOf(error)));
  try {
    await client.connect();
    refuseEvicting(await client.info("memory"));
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError(`The Redis of REDIS_URL cannot be reached: ${reason === "" ? reasonOf(error) : reason}.`);
  } finally {
    client.disconnect();
  }
}

/** Servers that do not say how they evict are believed. */
export function refuseEvicting(memory: string): void {
  const field = (name: string): string | undefined => new RegExp(`^${name}:(\\S+)`, "mu").exec(memory)?.[1];
  const policy = field("maxmemory_policy") ?? "noeviction";
  if (policy === "noeviction" || (field("maxmemory") ?? "0") === "0") return;
  throw new ServiceError(
    `The Redis of REDIS_URL removes keys when its memory is full (maxmemory-policy ${policy}), and money with them: set it to noeviction.`,
  );
}
