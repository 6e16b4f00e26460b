/** Runs a script by its hash, sending the text only where the server does not know it yet. */
import type { Redis } from "ioredis";
import { ScriptCommand } from "./script-command";
import type { RedisScriptName } from "./scripts.generated";
import { redisScripts } from "./scripts.generated";

export type ScriptReply = readonly (string | number | null)[];

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOSCRIPT");
}

/**
 * Calls a script. The reply is the raw array: numbers are small codes, amounts are decimal texts.
 * Throws what ioredis throws (connection lost, command timeout, script error).
 */
export async function runScript(
  redis: Redis,
  name: RedisScriptName,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<ScriptReply> {
  const script = redisScripts[name];
  try {
    return (await redis.sendCommand(new ScriptCommand(script.sha, keys, args))) as ScriptReply;
  } catch (error) {
    if (!isUnknownScript(error)) throw error;
    return (await redis.eval(script.text, keys.length, ...keys, ...args)) as ScriptReply;
  }
}

/** Calls a script that answers many calls in one text. Throws as runScript does. */
export async function runTextScript(
  redis: Redis,
  name: RedisScriptName,
  keys: readonly string[],
  args: readonly string[],
): Promise<string> {
  return String(await runScript(redis, name, keys, args));
}

/** Text of a reply element; "" for nothing. */
export function textAt(reply: ScriptReply, index: number): string {
  const value = reply[index];
  return value === null || value === undefined ? "" : String(value);
}

export function numberAt(reply: ScriptReply, index: number): number {
  return Number(reply[index] ?? 0);
}
