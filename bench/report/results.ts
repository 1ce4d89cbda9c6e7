/** Results file of a run: `bench/results/<date>-<commit>.json`. */

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Figure } from '../figure.ts';
import type { Machine } from './machine.ts';

export const RESULTS_FOLDER = join(import.meta.dirname, '../results');

export interface Results {
  date: string;
  commit: string;
  mode: string;
  machine: Machine;
  figures: Figure[];
}

export function writeResults(results: Results): string {
  const file = join(RESULTS_FOLDER, `${results.date}-${results.commit}.json`);
  writeFileSync(file, `${JSON.stringify(results, undefined, 2)}\n`);
  return file;
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
