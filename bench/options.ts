/** Options of `npm run bench`: what it does, with which rows, how long. */

import { parseArgs } from 'node:util';

export interface BenchOptions {
  /** `rows` measures rows; the others are forms of the benchmark of their own. */
  task: 'rows' | 'check' | 'micro' | 'write-docs';
  mode: 'quick' | 'full' | 'long';
  /** Ids of rows; empty means all that the mode has. */
  only: string[];
  /** Of a check: keeps what it measured as the baseline. */
  writeBaseline: boolean;
  /** After a complete run, the page and the baseline. */
  publish: boolean;
  /** Installs other gateways. */
  peers: boolean;
  /** Raises the priority of all processes of the benchmark, where the system allows it. */
  priority: boolean;
  /** Folder of another checkout. */
  against?: string;
  /** Results file whose rows are replaced by those of this run. */
  into?: string;
  /** Writes no results file. */
  keep: boolean;
  /** Words of `--micro`, the file of `--write-docs`. */
  names: string[];
}

/** Throws for options that there are not. */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      long: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      check: { type: 'boolean', default: false },
      'write-baseline': { type: 'boolean', default: false },
      'write-docs': { type: 'boolean', default: false },
      micro: { type: 'boolean', default: false },
      publish: { type: 'boolean', default: false },
      peers: { type: 'boolean', default: false },
      against: { type: 'string' },
      priority: { type: 'boolean', default: false },
      into: { type: 'string' },
      keep: { type: 'boolean', default: false },
    },
  });
  const { quick, long, only, publish, peers, priority, against, into, keep } = values;
  return {
    task: (['write-docs', 'micro', 'check'] as const).find((task) => values[task]) ?? 'rows',
    mode: quick ? 'quick' : long ? 'long' : 'full',
    ...{ only, publish, peers, priority, keep, names: positionals, writeBaseline: values['write-baseline'] },
    ...(against !== undefined && { against }),
    ...(into !== undefined && { into }),
  };
}

interface ChoosableRow {
  id: string;
  isLong?: boolean;
}

/** The rows that are asked for; undefined where a row of that name does not exist. */
export function chooseRows<Row extends ChoosableRow>(
  rows: readonly Row[],
  { only, mode }: Pick<BenchOptions, 'only' | 'mode'>,
): Row[] | undefined {
  if (only.some((id) => !rows.some((row) => row.id === id))) return undefined;
  return rows.filter(({ id, isLong }) => (only.length === 0 ? mode === 'long' || !isLong : only.includes(id)));
}

/** Whether a run measured everything, so that its figures can stand for the project. */
export function isComplete({ only, keep, into, against }: BenchOptions): boolean {
  return only.length === 0 && !keep && into === undefined && against === undefined;
}
