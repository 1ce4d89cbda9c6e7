/** Micro-benchmark `npm run bench -- --micro [WORD]`: nanoseconds of single steps of a request, without sockets. */

import { amount } from '../report/table.ts';
import { bodyCases, journalCases, streamCases } from './cases.ts';
import { codecCases } from './codecs.ts';
import { measureCase } from './measure.ts';

export function runMicro(words: readonly string[]): void {
  const all = [...bodyCases(), ...journalCases(), ...streamCases(), ...codecCases()];
  const chosen = all.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  for (const one of chosen) {
    const { name, nanoseconds, megabytesPerSecond } = measureCase(one);
    const throughput = megabytesPerSecond === undefined ? '' : `${amount(megabytesPerSecond)} MB/s`;
    process.stdout.write(`${name.padEnd(44)}${`${amount(nanoseconds)} ns`.padStart(14)}${throughput.padStart(16)}\n`);
  }
}
