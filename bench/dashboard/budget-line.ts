/** Lines of the table of budgets: what was measured, and how much of it is allowed. */

export interface BudgetLine {
  what: string;
  value: number;
  most: number;
  unit: string;
  /** More about how it was measured. */
  note?: string;
}

export function isKept({ value, most }: BudgetLine): boolean {
  return value <= most;
}

export function budgetTable(lines: readonly BudgetLine[]): string {
  const rows = lines.map((line): string[] => {
    const { what, value, most, unit, note = '' } = line;
    return [what, `${digits(value)} ${unit}`, `${digits(most)} ${unit}`, isKept(line) ? '' : 'EXCEEDED', note];
  });
  const all: string[][] = [['', 'measured', 'allowed', '', ''], ...rows];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? [];
  const isNumber = (column: number) => column === 1 || column === 2;
  const cell = (text: string, column: number) =>
    isNumber(column) ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0);
  return all.map((row) => `${row.map(cell).join('  ').trimEnd()}\n`).join('');
}

function digits(value: number): string {
  return value.toFixed(value < 10 && !Number.isInteger(value) ? 2 : 0);
}
