/** One gateway against two on one PostgreSQL: answers per second, and the processor time of gateways and of the server per answer. */

import { type Figure, figure } from '../figure.ts';
import { provideDatabase, serverOf } from '../host/database.ts';
import { processorTime } from '../host/proc.ts';
import { closedLoop } from '../load/closed-loop.ts';
import { median, warmTo } from '../measure.ts';
import { startPolygate } from '../subjects/polygate.ts';
import type { Subject } from '../subjects/subject.ts';
import { passthrough } from '../workload.ts';
import type { Row, Run } from './row.ts';

/** Of all gateways together. */
const CONNECTIONS = 64;
const WARM_REQUESTS = 15_000;
const WARM_SECONDS = 12;
const WINDOW_SECONDS = 3;
const ROUNDS = 8;

export const replicasRow: Row = {
  id: 'replicas',
  title: `one gateway and two on one PostgreSQL, ${CONNECTIONS} connections`,
  run: measureReplicas,
};

interface Shared {
  rate: number;
  /** Microseconds per answer, of all gateways and of the server. */
  gateways: number;
  server: number;
}

async function measureReplicas(run: Run): Promise<Figure[]> {
  const database = await provideDatabase(run.say);
  if (!database) return [];
  const server = await serverOf(database.url);
  const start = (name: string) => startPolygate({ name, upstreams: run.upstreams, database: database.url });
  const subjects = [await start('one gateway'), await start('another gateway')];
  try {
    const entries = subjects.map((subject) => ({ subject, workload: passthrough }));
    run.say('warming up');
    await warmTo(WARM_REQUESTS, entries, { connections: CONNECTIONS / 2, seconds: WARM_SECONDS * run.scale });
    const rounds: { one: Shared; two: Shared }[] = [];
    for (let round = 0; round < Math.max(3, Math.round(ROUNDS * run.scale)); round++) {
      // In turns, so that neither gateway is the one that works alone.
      const alone = subjects.slice(round % 2, (round % 2) + 1);
      const [one, two] = [await windowOf(alone, server), await windowOf(subjects, server)];
      if (one && two) rounds.push({ one, two });
    }
    const row = 'replicas';
    const figures = (['one', 'two'] as const).flatMap((count) => {
      const common = { row, subject: count === 'one' ? 'one gateway' : 'two gateways' };
      const of = (name: keyof Shared) => median(rounds.map((round) => round[count][name]));
      return [
        figure({ ...common, metric: 'rate', value: of('rate'), unit: '/s' }),
        figure({ ...common, metric: 'gateway', value: of('gateways'), unit: 'us' }),
        figure({ ...common, metric: 'server', value: of('server'), unit: 'us' }),
      ];
    });
    const ratios = (['rate', 'gateways', 'server'] as const).map((name) =>
      figure({
        ...{ row, subject: 'two gateways', unit: 'x' },
        metric: `${name === 'gateways' ? 'gateway' : name} by that of one`,
        value: median(rounds.map(({ one, two }) => two[name] / one[name])),
      }),
    );
    return [...figures, ...ratios];
  } finally {
    for (const subject of subjects) await subject.stop();
    await database.close();
  }
}

/** Undefined if one of them did not answer, or only with errors. */
async function windowOf(subjects: readonly Subject[], server: number): Promise<Shared | undefined> {
  const pids = subjects.map(({ pid }) => pid);
  const spent = () => ({
    gateways: pids.reduce((sum, pid) => sum + processorTime(pid), 0),
    server: processorTime(server),
  });
  const load = { connections: CONNECTIONS / subjects.length, seconds: WINDOW_SECONDS };
  const before = spent();
  const all = await Promise.all(
    subjects.map(async (subject) => {
      const target = subject.target(passthrough);
      return target && closedLoop(target, load);
    }),
  );
  const after = spent();
  let [ok, seconds] = [0, 0];
  for (const answers of all) {
    if (!answers || answers.ok === 0 || answers.failed > 0) return undefined;
    ok += answers.ok;
    seconds = Math.max(seconds, answers.seconds);
  }
  return {
    rate: ok / seconds,
    gateways: (after.gateways - before.gateways) / ok,
    server: (after.server - before.server) / ok,
  };
}
