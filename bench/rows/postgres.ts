/** Whole answers with PostgreSQL as the store: processor time of the gateway and of the database server. */

import { type Figure, figure } from '../figure.ts';
import { provideDatabase, serverOf } from '../host/database.ts';
import { processorTime } from '../host/proc.ts';
import { measureWindow, median, WARM, warmTo } from '../measure.ts';
import { startPolygate } from '../subjects/polygate.ts';
import { passthrough } from '../workload.ts';
import type { Row, Run } from './row.ts';

const CONNECTIONS = 32;
const WINDOW_SECONDS = 2;
const ROUNDS = 4;

export const postgresRow: Row = { id: 'postgres', title: 'whole answer, store in PostgreSQL', run: measurePostgres };

async function measurePostgres(run: Run): Promise<Figure[]> {
  const database = await provideDatabase(run.say);
  if (!database) return [];
  const server = await serverOf(database.url);
  const subject = await startPolygate({ name: 'postgres', upstreams: run.upstreams, database: database.url });
  try {
    const entries = [run.strict, subject].map((one) => ({ subject: one, workload: passthrough }));
    await warmTo(WARM.requests, entries, { connections: CONNECTIONS, seconds: WARM.seconds * run.scale });
    const windows: { gateway: number; server: number; sqlite: number }[] = [];
    for (let round = 0; round < Math.max(2, Math.round(ROUNDS * run.scale)); round++) {
      const window = { connections: CONNECTIONS, seconds: WINDOW_SECONDS };
      const [own, reference] = [subject.target(passthrough), run.strict.target(passthrough)];
      if (!own || !reference) break;
      const sqlite = await measureWindow(run.strict, reference, window);
      const before = processorTime(server);
      const measured = await measureWindow(subject, own, window);
      const spent = processorTime(server) - before;
      if (sqlite && measured) windows.push({ gateway: measured.cpu, server: spent / measured.ok, sqlite: sqlite.cpu });
    }
    const of = (value: (window: (typeof windows)[number]) => number) => median(windows.map(value));
    const common = { row: 'postgres', unit: 'us' };
    return [
      figure({ ...common, subject: 'strict', metric: 'gateway with SQLite', value: of(({ sqlite }) => sqlite) }),
      figure({ ...common, subject: 'postgres', metric: 'gateway', value: of(({ gateway }) => gateway) }),
      figure({ ...common, subject: 'postgres', metric: 'server', value: of((window) => window.server) }),
      figure({
        ...{ row: 'postgres', unit: 'x', subject: 'postgres', metric: 'gateway by that with SQLite' },
        value: of(({ gateway, sqlite }) => gateway / sqlite),
      }),
    ];
  } finally {
    await subject.stop();
    await database.close();
  }
}
