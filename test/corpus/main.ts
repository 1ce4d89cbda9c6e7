/**
 * `npm run test:corpus [FOLDER] [--json]`: judges the gateway by recorded traffic. Exits with the number of differences,
 * 250 at most; with 255 when there is nothing to judge.
 */

import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { judgeFraming } from './framing.ts';
import { judge } from './judge.ts';
import { type Corpus, readCorpus } from './recordings.ts';
import { startReplay } from './replay.ts';
import { differencesIn, report, table } from './report.ts';
import type { Verdict } from './trial.ts';

const MOST_DIFFERENCES = 250;
const NOTHING_JUDGED = 255;

/** What was asked for; or in words why that can't be judged. */
function asked(): { corpus: Corpus; json: boolean } | string {
  const usage = 'Use: npm run test:corpus [FOLDER] [--json]';
  try {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'boolean' } } });
    if (positionals.length > 1) return `Only one folder can be judged. ${usage}`;
    const folder = resolve(positionals[0] ?? '../shared/corpus');
    const corpus = readCorpus(folder);
    if (!corpus) return `There is no folder ${folder}. ${usage}`;
    if (corpus.recordings.length + corpus.framed.length === 0)
      return `There are no recordings to judge in ${folder}. ${usage}`;
    // npm takes the option for its own unless `--` stands before it.
    return { corpus, json: values.json ?? process.env.npm_config_json === 'true' };
  } catch (error) {
    return `${(error as Error).message} ${usage}`;
  }
}

async function judgeAll({ recordings }: Corpus): Promise<Verdict[]> {
  const replay = await startReplay(recordings);
  const verdicts: Verdict[] = [];
  for (const [index, recording] of recordings.entries()) {
    if (process.stderr.isTTY) process.stderr.write(`\r${index + 1} of ${recordings.length} recordings`);
    verdicts.push(...(await judge(recording, replay)));
  }
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  await replay.close();
  return verdicts;
}

const given = asked();
if (typeof given === 'string') {
  process.stderr.write(`${given}\n`);
  process.exitCode = NOTHING_JUDGED;
} else {
  const { corpus, json } = given;
  const verdicts = await judgeAll(corpus);
  const framings = corpus.framed.map(judgeFraming);
  const text = json
    ? `${JSON.stringify(report(verdicts, framings, corpus), null, 2)}\n`
    : table(verdicts, framings, corpus);
  process.stdout.write(text);
  process.exitCode = Math.min(differencesIn(verdicts, framings), MOST_DIFFERENCES);
}
