/** Lists for people in a terminal, and for programs behind a pipe. */

/** Aligned under the headings in a terminal; else values between tabs, without headings. */
export function formatTable(headings: string[], rows: string[][], terminal: boolean): string {
  if (!terminal) return rows.map((row) => `${row.join('\t')}\n`).join('');
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
