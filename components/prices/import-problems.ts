/** Mistakes in an imported file: where they are, and which message tells them. Pure. */

export interface ImportProblem {
  /** From 1; null where the whole file is meant. */
  readonly line: number | null;
  /** Place in the row: "rates.inputPerToken"; empty for none. */
  readonly path: string;
  /** In English, as the server wrote it. */
  readonly text: string;
}

/** Fields such as "text:12:rates.inputPerToken"; what concerns other fields of the form is left out. */
export function problemsOf(fields: Readonly<Record<string, string>>): readonly ImportProblem[] {
  return Object.entries(fields).flatMap(([field, text]) => {
    const match = /^text(?::(\d+))?(?::(.*))?$/su.exec(field);
    if (match === null) return [];
    return [{ line: match[1] === undefined ? null : Number(match[1]), path: match[2] ?? "", text }];
  });
}

/** What the readers of the files say, and the message below `importProblems` for it. */
const SENTENCES = [
  [/^the (?:book|file) has no rows$/u, "noRows"],
  [/^the (?:book has more than \d+|file has too many) rows$/u, "tooManyRows"],
  [/^the (?:model|pair) has a row from this moment already(?: \(line \d+\))?$/u, "twice"],
  [/^write a moment such as/u, "moment"],
  [/^(?:write an ISO 4217 code|currency_malformed)/u, "currency"],
  [/^there is no price of this name$/u, "noSuchPrice"],
  [/^the row ends before it starts$/u, "endsBefore"],
  [/^the row names no price$/u, "noPrice"],
  [/^the file is too large$|^too_long$/u, "tooLarge"],
  [/^the file needs a list named prices$/u, "needsPrices"],
  [/^the file has too many references$/u, "tooManyReferences"],
  [/^two columns have this name$/u, "columnTwice"],
  [/^this is no name of a column$/u, "noSuchColumn"],
  [/^there is no model of this name$/u, "noModel"],
  [/^a price of this model starts at this time or later$/u, "startsLater"],
  [/^a later price of a model may not start in the past$/u, "inThePast"],
  [/^the pair has another rate from this moment$/u, "otherRate"],
  [/^(?:rate_malformed|amount_malformed|multiplier_malformed)$|^a price is a number/u, "rate"],
  [/^amount_not_positive$/u, "notPositive"],
  [/^same_currency$/u, "sameCurrency"],
  [/^required$|received undefined$|^Too small/u, "missing"],
  [/^Invalid option: expected one of "token"/u, "unit"],
  [/^Unrecognized key/u, "unknownKey"],
  [/^Invalid Record Length|^Quote Not Closed|^Invalid (?:Opening|Closing) Quote/u, "csv"],
] as const;
export type ProblemKey = (typeof SENTENCES)[number][1];

/** Undefined for a sentence that has no message: it is shown as the server wrote it. */
export function problemKey(text: string): ProblemKey | undefined {
  return SENTENCES.find(([pattern]) => pattern.test(text))?.[1];
}
