/**
 * `npm run test:corpus [FOLDER] [--json]`: judges the gateway by recorded traffic. Exits with 1 when an answer differs
 * from what was recorded, with 2 when there is no such folder.
 */

import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { judge } from './judge.ts';
import { readCorpus } from './recordings.ts';
import { startReplay } from './replay.ts';
import { report, table } from './report.ts';
import type { Verdict } from './trial.ts';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'boolean' } } });
const folder = resolve(positionals[0] ?? '../shared/corpus');
const corpus = readCorpus(folder);

if (corpus) {
  const replay = await startReplay(corpus.recordings);
  const verdicts: Verdict[] = [];
  for (const recording of corpus.recordings) verdicts.push(...(await judge(recording, replay)));
  await replay.close();
  process.stdout.write(
    values.json ? `${JSON.stringify(report(verdicts, corpus), null, 2)}\n` : table(verdicts, corpus),
  );
  process.exitCode = verdicts.some(({ outcome }) => outcome === 'different') ? 1 : 0;
} else {
  process.stderr.write(`There is no folder ${folder}. Name one with recordings: npm run test:corpus -- FOLDER\n`);
  process.exitCode = 2;
}
