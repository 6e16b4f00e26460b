/** Tables for people: first column to the left, the others to the right. */

export function tableText(head: readonly string[], rows: readonly (readonly (string | number | bigint)[])[]): string {
  const lines = [head, ...rows.map((row) => row.map(String))];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? "").length)));
  const text = lines.map((line) =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
  text.splice(1, 0, widths.map((width) => "-".repeat(width)).join("  "));
  return `\n${text.join("\n")}\n`;
}

/** The value below which `share` of the numbers lie (nearest rank). */
export function percentile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/** Nanos as a decimal of the currency with all nine digits. */
export function moneyText(nanos: bigint): string {
  const digits = (nanos < 0n ? -nanos : nanos).toString().padStart(10, "0");
  return `${nanos < 0n ? "-" : ""}${digits.slice(0, -9)}.${digits.slice(-9)}`;
}
