/**
 * A journal's lines: `<checksum> <id> <text>`. A line that was torn by a full disk or a power cut does not match its checksum and
 * is left out, wherever it stands.
 */
import { createHash } from "node:crypto";

export interface JournalLine {
  /** Without blanks. */
  readonly id: string;
  /** Without line breaks. */
  readonly text: string;
}

const CHECKSUM_LENGTH = 16;

function checksumOf(content: string): string {
  return createHash("sha256").update(content).digest("hex").slice(0, CHECKSUM_LENGTH);
}

export function lineOf({ id, text }: JournalLine): Buffer {
  const content = `${id} ${text}`;
  return Buffer.from(`${checksumOf(content)} ${content}\n`, "utf8");
}

function readLine(line: string): JournalLine | undefined {
  const content = line.slice(CHECKSUM_LENGTH + 1);
  const blank = content.indexOf(" ");
  if (blank < 1 || line.slice(0, CHECKSUM_LENGTH) !== checksumOf(content)) return undefined;
  return { id: content.slice(0, blank), text: content.slice(blank + 1) };
}

/** The whole lines of a journal in their order, and how many were not. */
export function readLines(content: string): { readonly lines: JournalLine[]; readonly damaged: number } {
  const lines: JournalLine[] = [];
  let damaged = 0;
  for (const line of content.split("\n")) {
    if (line === "") continue;
    const read = readLine(line);
    if (read) lines.push(read);
    else damaged += 1;
  }
  return { lines, damaged };
}
