/** Micro-benchmark `npm run bench -- --micro [WORD]`: nanoseconds of single steps of a request, without sockets. */

import { amount } from '../report/table.ts';
import { bodyCases, journalCases, streamCases } from './cases.ts';
import { codecCases } from './codecs.ts';
import { type MicroCase, measureCase } from './measure.ts';

/** All cases, or those with one of the words in their names. */
export function microCases(words: readonly string[]): MicroCase[] {
  const all = [...bodyCases(), ...journalCases(), ...streamCases(), ...codecCases()];
  return all.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
}

export function runMicro(words: readonly string[]): void {
  for (const one of microCases(words)) {
    const { name, nanoseconds, megabytesPerSecond } = measureCase(one);
    const throughput = megabytesPerSecond === undefined ? '' : `${amount(megabytesPerSecond)} MB/s`;
    process.stdout.write(`${name.padEnd(44)}${`${amount(nanoseconds)} ns`.padStart(14)}${throughput.padStart(16)}\n`);
  }
}
