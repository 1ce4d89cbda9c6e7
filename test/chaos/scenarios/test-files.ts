/** K2 and K3: what the test files show, run as often as it takes and counted. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { exactly, type Figure, noted } from '../figures.ts';
import type { Scenario, Stage } from '../stage.ts';

const root = join(import.meta.dirname, '../../..');
const PATIENCE = 180_000;

export const killedSteps: Scenario = {
  id: 'killed-steps',
  title: 'Kill -9 between any two steps',
  how:
    'A gateway with one task or one webhook kills itself at a named point, before or after each store operation and ' +
    'during mirroring; the next one resumes. The points are those of `test/videos/kill.test.ts` and ' +
    '`test/webhooks/crash.test.ts`, which check that nothing is lost, made twice, or sent too often.',
  run: (stage) => runFiles(stage, ['test/videos/kill.test.ts', 'test/webhooks/crash.test.ts'], 'points'),
};

export const settlementRaces: Scenario = {
  id: 'settlement-races',
  title: 'Concurrent ends of the same task',
  how:
    'Completion, failure, deadline, cancellation and two workers meet on 1,000 tasks on each engine: ' +
    '`test/videos/races.test.ts` checks that every task has one terminal status, one matching webhook, and one entry of its cost.',
  run: (stage) => runFiles(stage, ['test/videos/races.test.ts'], 'races'),
};

async function runFiles(stage: Stage, files: string[], what: string): Promise<Figure[]> {
  const args = ['--import=./test/seed.ts', '--test', '--test-reporter=tap', '--test-timeout=120000', ...files];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
  stage.atEnd(() => child.kill('SIGKILL'));
  const timer = setTimeout(() => child.kill('SIGTERM'), PATIENCE);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    const [last] = output.match(/^ *(?:not )?ok \d+ - .*$(?![\s\S]*^ *(?:not )?ok \d)/m) ?? [];
    if (last) stage.say(last.trim());
  });
  await once(child, 'close');
  clearTimeout(timer);
  const count = (name: string) => Number(new RegExp(`^# ${name} (\\d+)`, 'm').exec(output)?.[1] ?? 0);
  const broken = [...output.matchAll(/^ *not ok \d+ - (.*)$/gm)].map(([, name]) => noted('broken', name ?? ''));
  return [
    exactly(what, count('pass'), Math.max(1, count('tests'))),
    exactly('not as they should be', count('fail'), 0),
    ...broken,
  ];
}
