/** Files of comma-separated values, made of what a page shows. */

import { plainDecimal } from './parts/numbers.tsx';

export type Cell = string | number | null | undefined;

export function csvOf(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [head, ...rows]
    .map((row) => row.map(encode).join(','))
    .join('\r\n')
    .concat('\r\n');
}

/** A text that a spreadsheet would take for a formula gets a quote in front. */
function encode(cell: Cell): string {
  if (typeof cell === 'number') return plainDecimal(cell);
  const text = cell ?? '';
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** All fields of objects as the API gave them; those within another are named `outer.inner`. */
export function csvOfRows(rows: readonly object[]): string {
  const flat = rows.map((row) => flatten(row));
  const head = [...new Set(flat.flatMap((cells) => Object.keys(cells)))];
  return csvOf(
    head,
    flat.map((cells) => head.map((name) => cells[name])),
  );
}

/** Objects in a list are written as JSON. */
function flatten(row: object, before = ''): Record<string, Cell> {
  const cells: Record<string, Cell> = {};
  for (const [name, value] of Object.entries(row)) {
    if (Array.isArray(value)) cells[before + name] = value.map(textOf).join(' ');
    else if (typeof value === 'object' && value !== null) Object.assign(cells, flatten(value, `${before}${name}.`));
    else cells[before + name] = typeof value === 'number' ? value : textOf(value);
  }
  return cells;
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

export function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
