/** Table and JSON output. */

/** Aligned columns with headings for a terminal; else tab-separated values without headings. */
export function formatTable(headings: string[], rows: string[][], isTerminal: boolean): string {
  if (!isTerminal) return rows.map((row) => `${row.join('\t')}\n`).join('');
  const lines = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...lines.map((row) => row[column]?.length ?? 0)));
  return lines
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

export function printTable(headings: string[], rows: string[][]): void {
  process.stdout.write(formatTable(headings, rows, process.stdout.isTTY ?? false));
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}
