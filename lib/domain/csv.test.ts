import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvLine } from "./csv";

describe("a line of CSV", () => {
  it("is read back as it was written, whatever is in it", () => {
    const cell = fc.string({ unit: "grapheme" }).filter((text) => !/^[=+\-@\t\r]/u.test(text));
    fc.assert(
      fc.property(fc.array(cell, { minLength: 2, maxLength: 6 }), (cells) => {
        const rows: string[][] = parse(csvLine(cells), { relax_column_count: true });
        expect(rows).toEqual([cells]);
      }),
    );
  });

  it("never starts a text as a formula, and leaves numbers numbers", () => {
    expect(csvLine(["=1+1", "@SUM(A1)", "-2", "\tx", { decimal: "-0.0048" }])).toBe(
      "'=1+1,'@SUM(A1),'-2,'\tx,-0.0048\r\n",
    );
  });

  it("shows what is not known as empty, not as zero", () => {
    expect(csvLine([null, { decimal: "0" }, "a,b", 'say "no"'])).toBe(',0,"a,b","say ""no"""\r\n');
  });
});
