/** Results file of a run: `bench/results/<date>-<commit>.json`. */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Figure } from '../figure.ts';
import type { Machine } from './machine.ts';

export const RESULTS_FOLDER = join(import.meta.dirname, '../results');

export interface Results {
  date: string;
  commit: string;
  mode: string;
  machine: Machine;
  /** Versions of the other gateways that were measured. */
  peers?: Record<string, string>;
  figures: Figure[];
}

export function writeResults(results: Results): string {
  const file = join(RESULTS_FOLDER, `${results.date}-${results.commit}.json`);
  writeFileSync(file, `${JSON.stringify(results, undefined, 2)}\n`);
  return file;
}

/** Puts the rows of a run in the place of those of a file, whose machine and date stay. */
export function replaceRows(file: string, { figures, peers }: Results): string {
  const results = readResults(file);
  if (peers) results.peers = { ...results.peers, ...peers };
  const measured = new Set(figures.map(({ row }) => row));
  results.figures = [...results.figures.filter(({ row }) => !measured.has(row)), ...figures];
  writeFileSync(file, `${JSON.stringify(results, undefined, 2)}\n`);
  return file;
}

/** The file that is named, or else the one that was written last. */
export function resultsFile(name: string | undefined): string {
  if (name !== undefined) return resolve(name);
  const files = readdirSync(RESULTS_FOLDER)
    .filter((file) => /^\d{4}-/.test(file))
    .map((file) => join(RESULTS_FOLDER, file));
  const latest = files.sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs)[0];
  if (latest === undefined) throw new Error('There is no results file: run the benchmark first.');
  return latest;
}

export function readResults(file: string): Results {
  return JSON.parse(readFileSync(file, 'utf8')) as Results;
}

/** Short id of the commit that is measured; a plus sign stands for changes on top of it. */
export function commitOf(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' }).trim();
  try {
    const id = git('rev-parse', '--short', 'HEAD');
    return git('status', '--porcelain', '--', '../../src') === '' ? id : `${id}+`;
  } catch {
    return 'unknown';
  }
}
