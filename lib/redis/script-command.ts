/** EVALSHA with hundreds of arguments, as the scripts of many calls have them, written in one piece. */
import { Command } from "ioredis";

/** Where all is ASCII, lengths in characters are lengths in bytes, and nothing need be measured argument by argument. */
export class ScriptCommand extends Command {
  constructor(sha: string, keys: readonly string[], args: readonly (string | number)[]) {
    super("evalsha", [sha, keys.length, ...keys, ...args], { replyEncoding: "utf8" });
  }

  override toWritable(socket: object): string | Buffer {
    const parts = [`*${String(this.args.length + 1)}\r\n$7\r\nevalsha\r\n`];
    for (const arg of this.args) {
      const text = String(arg);
      parts.push(`$${String(text.length)}\r\n`, text, "\r\n");
    }
    const whole = parts.join("");
    return Buffer.byteLength(whole) === whole.length ? whole : super.toWritable(socket);
  }
}
