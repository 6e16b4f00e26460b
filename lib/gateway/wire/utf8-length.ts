/** Bytes of a text in UTF-8 without encoding it. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) bytes += code > 0x7ff ? 2 : 1;
    // Each half of a surrogate pair counted 3; the pair is 4.
    if (code >= 0xd800 && code <= 0xdbff) bytes -= 2;
  }
  return bytes;
}
