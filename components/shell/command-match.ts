/** Which commands fit what was typed, best first. Pure. */

export interface Findable {
  readonly label: string;
  /** Other words that find it. */
  readonly words?: string;
}

const NO_FIT = 4;

/** How well the text fits: its beginning, the beginning of a word, anywhere, or one of its other words. */
function fitOf(item: Findable, typed: string): number {
  const label = item.label.toLowerCase();
  if (label.startsWith(typed)) return 0;
  if (label.split(/[\s/_-]+/u).some((word) => word.startsWith(typed))) return 1;
  if (label.includes(typed)) return 2;
  return item.words?.toLowerCase().includes(typed) === true ? 3 : NO_FIT;
}

/** All of them, in their order, while nothing is typed. */
export function matching<Item extends Findable>(items: readonly Item[], text: string): readonly Item[] {
  const typed = text.trim().toLowerCase();
  if (typed === "") return items;
  return items
    .map((item) => ({ item, fit: fitOf(item, typed) }))
    .filter(({ fit }) => fit < NO_FIT)
    .sort((a, b) => a.fit - b.fit)
    .map(({ item }) => item);
}
