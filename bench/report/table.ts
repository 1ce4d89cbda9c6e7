/** Table of figures for a terminal. */

import type { Figure } from '../figure.ts';

interface Titled {
  id: string;
  title: string;
}

const HEADERS = ['', 'metric', 'value', 'x nginx', 'x bare', '/s', 'after'];

export function terminalTable(figures: readonly Figure[], rows: readonly Titled[]): string {
  const parts = rows.flatMap(({ id, title }) => {
    const own = figures.filter(({ row }) => row === id);
    return own.length === 0 ? [] : [`${title}\n${grid([HEADERS, ...own.map(cellsOf)])}`];
  });
  return parts.join('\n');
}

export function cellsOf(one: Figure): string[] {
  return [
    one.subject,
    one.metric,
    `${amount(one.value)} ${one.unit}${one.note === undefined ? '' : ` (${one.note})`}`,
    ...[one.toNginx, one.toBare].map((ratio) => (ratio === undefined ? '' : ratio.toFixed(ratio < 10 ? 2 : 1))),
    one.answersPerSecond === undefined ? '' : amount(one.answersPerSecond),
    one.after === undefined ? '' : String(one.after),
  ];
}

export function amount(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(value >= 10 ? 1 : 2);
}

function grid(lines: readonly string[][]): string {
  const widths = HEADERS.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const line = (cells: string[]) =>
    cells
      .map((cell, column) => (column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ');
  return lines.map((cells) => `  ${line(cells).trimEnd()}\n`).join('');
}
