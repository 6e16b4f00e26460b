/**
 * A text that is kept, as one piece. V8 leaves a text that was put together of many as a tree of them until a character of
 * it is read; what outlives its call would have the collector walk and copy hundreds of small objects again and again.
 */
export function flatText(text: string): string {
  // Reading one character makes it one piece. What is read must matter, or the compiler leaves the reading out.
  return Number.isNaN(text.charCodeAt(0)) ? "" : text;
}
