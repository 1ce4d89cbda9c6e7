/** Comma-separated values that spreadsheets open without running anything in them. */

type Cell = string | number | boolean | null | undefined;

/** One line a row after that of the names; lines end as RFC 4180 says. */
export function encodeCsv(columns: readonly string[], rows: readonly object[]): string {
  const lines = rows.map((row) => columns.map((name) => encodeCell((row as Record<string, Cell>)[name])).join(','));
  return `${[columns.join(','), ...lines].join('\r\n')}\r\n`;
}

/** Text that a spreadsheet would take for a formula begins with an apostrophe. */
function encodeCell(value: Cell): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
