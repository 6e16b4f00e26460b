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
    await client.ping();
  } catch (error) {
    throw new ServiceError(`The Redis of REDIS_URL cannot be reached: ${reason === "" ? reasonOf(error) : reason}.`);
  } finally {
    client.disconnect();
  }
}
