/** Table and JSON output. */

/** Aligned columns with headings for a terminal; else tab-separated values without headings. */
export function formatTable(headings: string[], texts: string[][], isTerminal: boolean): string {
  const rows = texts.map((row) => row.map(inOneCell));
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

/** Texts of clients begin no row or cell, and have no control characters left that a terminal would obey. */
export function inOneCell(text: string): string {
  return text.replace(/[\t\n\r]+/g, ' ').replace(/\p{Cc}/gu, '?');
}

export function printTable(headings: string[], rows: string[][]): void {
  process.stdout.write(formatTable(headings, rows, process.stdout.isTTY ?? false));
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}
