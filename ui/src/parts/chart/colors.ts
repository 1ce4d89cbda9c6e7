/** Colours of series, in the order of their size. */

/** Id of the series that stands for the rest; no value is the same. */
export const OTHER = '\u0001other';
const COLORS = 8;

export function seriesColor(index: number, id?: string): string {
  return id === OTHER ? 'var(--series-other)' : `var(--series-${(index % COLORS) + 1})`;
}
