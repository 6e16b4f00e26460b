/** Lines of a byte stream, one in memory at a time: files of JSON lines may be longer than memory. */
const LF = 10;

/** A line that is longer than it may be. */
export class LineTooLong extends Error {
  constructor(readonly maxBytes: number) {
    super(`a line has more than ${String(maxBytes)} bytes`);
    this.name = "LineTooLong";
  }
}

/** Lines without their ends, UTF-8; what follows the last end is a line, too. Throws LineTooLong. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let pending: Uint8Array[] = [];
  let length = 0;
  const take = (): string => {
    const line = pending.map((piece) => decoder.decode(piece, { stream: true })).join("") + decoder.decode();
    pending = [];
    length = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, from)) {
      if (length + at - from > maxBytes) throw new LineTooLong(maxBytes);
      pending.push(chunk.subarray(from, at));
      from = at + 1;
      yield take();
    }
    pending.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > maxBytes) throw new LineTooLong(maxBytes);
  }
  yield take();
}
