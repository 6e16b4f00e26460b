/** Saves rows that the page has as a CSV file. The browser only; the text goes to the person's disk and nowhere else. */
import { csvLine, CSV_START } from "@/lib/domain/csv";
import type { CsvCell } from "@/lib/domain/csv";

export function saveCsv(fileName: string, rows: readonly (readonly CsvCell[])[]): void {
  const text = CSV_START + rows.map(csvLine).join("");
  saveText(fileName, "text/csv;charset=utf-8", text);
}

export function saveText(fileName: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName;
  link.click();
  URL.revokeObjectURL(url);
}
