/** Version of this Polygate, and comparison of versions. */

import { readFileSync } from 'node:fs';

/** Version in package.json, which is two folders above this file, compiled or not. */
export const version: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;

/** Compares `major.minor.patch`; what follows counts for nothing, so that a release candidate counts as its release. */
export function isAtLeast(one: string, bound: string): boolean {
  const [numbers, bounds] = [one, bound].map((text) => text.split(/[.+-]/, 3).map(Number)) as [number[], number[]];
  const decisive = bounds.findIndex((number, index) => numbers[index] !== number);
  return decisive < 0 || (numbers[decisive] ?? 0) > (bounds[decisive] ?? 0);
}
