/** Figure: one measured value of one subject in a row of the benchmark, as results files keep it. */

export interface Figure {
  /** Id of the row. */
  row: string;
  subject: string;
  /** `cpu warm`, `cpu cold`, `p50`, `memory idle`: unique in its row and subject. */
  metric: string;
  value: number;
  unit: string;
  toNginx?: number;
  toBare?: number;
  answersPerSecond?: number;
  /** Requests that were answered before the measurement. */
  after?: number;
  note?: string;
}

/** Rounded so that a results file can be read and compared. */
export function figure(values: Figure): Figure {
  return Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, typeof value === 'number' ? rounded(value) : value]),
  ) as unknown as Figure;
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
