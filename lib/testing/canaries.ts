/** Looks for planted secrets in all that a system keeps and says: as they are, in hexadecimal, and in base64 at every alignment. */
import type { Redis } from "ioredis";
import type { SqlClient } from "@/lib/db/pool";

/** A text that nothing else produces, of letters and digits, so that no encoding of text changes it. */
export function canary(name: string): string {
  const random = Array.from(globalThis.crypto.getRandomValues(new Uint8Array(12)), (byte) => (byte % 36).toString(36));
  return `canary${name}${random.join("")}`;
}

/** Without the characters at the ends that depend on what stands around. */
function inBase64(bytes: Buffer, offset: number): string {
  const whole = bytes.subarray(0, bytes.length - ((bytes.length + offset) % 3));
  return Buffer.concat([Buffer.alloc(offset), whole])
    .toString("base64")
    .slice([0, 2, 3][offset])
    .replaceAll("=", "");
}

function formsOf(text: string): string[] {
  const bytes = Buffer.from(text, "utf8");
  return [text, bytes.toString("hex"), ...[0, 1, 2].map((offset) => inBase64(bytes, offset))];
}

/** Names of the canaries that stand somewhere in `text`. */
export function canariesIn(text: string, canaries: Readonly<Record<string, string>>): string[] {
  return Object.entries(canaries)
    .filter(([, value]) => formsOf(value).some((form) => text.includes(form)))
    .map(([name]) => name);
}

function flat(value: unknown): string {
  if (Buffer.isBuffer(value)) return value.toString("latin1");
  return Array.isArray(value) ? value.map(flat).join("\n") : String(value);
}

const READS: Readonly<Record<string, (key: Buffer) => readonly [string, ...(string | Buffer)[]]>> = {
  string: (key) => ["GET", key],
  hash: (key) => ["HGETALL", key],
  list: (key) => ["LRANGE", key, "0", "-1"],
  set: (key) => ["SMEMBERS", key],
  zset: (key) => ["ZRANGE", key, "0", "-1", "WITHSCORES"],
  stream: (key) => ["XRANGE", key, "-", "+"],
};

/** Every key and value of the server's database, byte for byte. */
export async function redisDump(redis: Redis): Promise<string> {
  const parts: string[] = [];
  for (const key of await redis.keysBuffer("*")) {
    const type = await redis.type(key);
    const read = READS[type];
    if (!read) throw new Error(`a key of type ${type} cannot be read`);
    const [command, ...args] = read(key);
    parts.push(flat(key), flat(await redis.callBuffer(command, ...args)));
  }
  return parts.join("\n");
}

/** Every row of every table; bytes in hexadecimal. */
export async function databaseDump(client: SqlClient): Promise<string> {
  const tables = await client.query<{ name: string }>(
    "SELECT format('%I', tablename) AS name FROM pg_tables WHERE schemaname = 'public'",
  );
  const parts: string[] = [];
  for (const { name } of tables.rows) {
    const { rows } = await client.query<{ row: string }>(`SELECT row_to_json(t)::text AS row FROM ${name} AS t`);
    parts.push(name, ...rows.map(({ row }) => row));
  }
  return parts.join("\n");
}
