/**
 * Where the members of a JSON object stand in its text. Bodies go upstream as they came but for a few members, so those
 * are spliced into the text instead of writing the parsed value out again (which would change numbers and order).
 * A name that occurs twice in one object is reported: one value could be priced and the other sent.
 */
export interface MemberSpan {
  /** First and first-after-last index of the value. */
  readonly start: number;
  readonly end: number;
}

export interface JsonScan {
  readonly members: ReadonlyMap<string, MemberSpan>;
  readonly duplicate: string | undefined;
  /** Whether objects and lists stand in one another more deeply than anybody may walk. */
  readonly isTooDeep: boolean;
}

/** No vendor takes schemas or content half as deep; what walks a body calls itself for every level. */
const MAX_DEPTH = 200;

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** Index of the quote that closes the string opened at `open`. */
function closingQuote(text: string, open: number): number {
  let at = text.indexOf('"', open + 1);
  while (at > 0) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
    at = text.indexOf('"', at + 1);
  }
  return text.length;
}

function decodeName(raw: string): string {
  return raw.includes("\\") ? String(JSON.parse(`"${raw}"`)) : raw;
}

class Scanner {
  readonly members = new Map<string, MemberSpan>();
  duplicate: string | undefined;
  isTooDeep = false;
  /** Names seen per open object; null for an open array. */
  private readonly stack: (Set<string> | null)[] = [];
  private expectsName = false;
  private name = "";
  private valueStart = -1;

  constructor(private readonly text: string) {}

  private closeMember(end: number): void {
    if (this.stack.length !== 1 || this.valueStart < 0) return;
    let start = this.valueStart;
    let stop = end;
    while (this.text.charCodeAt(start) <= 32) start += 1;
    while (this.text.charCodeAt(stop - 1) <= 32) stop -= 1;
    this.members.set(this.name, { start, end: stop });
    this.valueStart = -1;
  }

  private string(at: number): number {
    const end = closingQuote(this.text, at);
    const names = this.stack[this.stack.length - 1];
    if (this.expectsName && names) {
      const name = decodeName(this.text.slice(at + 1, end));
      if (names.has(name)) this.duplicate ??= name;
      names.add(name);
      if (this.stack.length === 1) this.name = name;
      this.expectsName = false;
    }
    return end + 1;
  }

  private structure(code: number, at: number): void {
    if (code === COLON) {
      if (this.stack.length === 1) this.valueStart = at + 1;
    } else if (code === COMMA) {
      this.closeMember(at);
      this.expectsName = this.stack[this.stack.length - 1] !== null;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      this.stack.push(code === OPEN_BRACE ? new Set() : null);
      this.expectsName = code === OPEN_BRACE;
      if (this.stack.length > MAX_DEPTH) this.isTooDeep = true;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      this.closeMember(at);
      this.stack.pop();
      this.expectsName = false;
    }
  }

  run(): void {
    const { text } = this;
    let at = 0;
    while (at < text.length) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        at = this.string(at);
      } else {
        this.structure(code, at);
        at += 1;
      }
    }
  }
}

/** Scans text that JSON.parse has accepted and that is an object. Linear time. */
export function scanJson(text: string): JsonScan {
  const scanner = new Scanner(text);
  scanner.run();
  return { members: scanner.members, duplicate: scanner.duplicate, isTooDeep: scanner.isTooDeep };
}

/** The text with members set to the given JSON texts; members that are not there yet are put first. */
export function patchJson(text: string, scan: JsonScan, patches: Readonly<Record<string, string>>): string {
  const present: { span: MemberSpan; json: string }[] = [];
  let added = "";
  for (const [name, json] of Object.entries(patches)) {
    const span = scan.members.get(name);
    if (span) present.push({ span, json });
    else added += `${JSON.stringify(name)}:${json},`;
  }
  let patched = text;
  for (const { span, json } of present.sort((left, right) => right.span.start - left.span.start)) {
    patched = patched.slice(0, span.start) + json + patched.slice(span.end);
  }
  if (added === "") return patched;
  const open = patched.indexOf("{") + 1;
  if (scan.members.size === 0) added = added.slice(0, -1);
  return patched.slice(0, open) + added + patched.slice(open);
}
