/** A gateway that is suspended during requests for longer than its heartbeat is valid: its records are written off, then corrected. */

import { providePostgres } from '../../store/postgres-server.ts';
import { startChats } from '../chat-upstream.ts';
import { atLeast, exactly, noted } from '../figures.ts';
import { startGateway } from '../gateway.ts';
import { usageFigures } from '../ledgers.ts';
import { startLoad } from '../load.ts';
import { pause, type Scenario, within } from '../stage.ts';
import { openDatabase } from '../store.ts';

const ASKERS = 16;
const FROZEN_MS = 45_000;
const TOKENS = { input: 7, output: 11 };

export const frozenRequests: Scenario = {
  id: 'frozen-requests',
  title: 'A gateway that is suspended during requests',
  how:
    `Two gateways share a PostgreSQL database. One has ${ASKERS} requests under way, whole and streamed, whose answers take two seconds, when it is stopped with SIGSTOP for ${FROZEN_MS / 1000} s. ` +
    'The other considers it dead after 30 s and records its requests as interrupted, with an estimate. When it resumes, the true figures replace them.',
  patient: true,
  async run(stage) {
    const database = await providePostgres();
    stage.atEnd(database.close);
    const chats = await startChats(stage, { ...TOKENS, delay: [1500, 2500], interval: 500 });
    const yaml = `providers: { chat: ${chats.entry} }`;
    const start = () => startGateway(stage, { folder: stage.folder(), postgres: database.url, yaml });
    const [one, two] = [await start(), await start()];
    const load = startLoad(stage, { url: one.url, askers: ASKERS, patience: 2 * FROZEN_MS });
    const store = await openDatabase(database.url);
    stage.atEnd(store.close);
    await pause(4000);
    one.signal('SIGSTOP');
    const count = async (sql: string) => Number((await store.do('askUsage', { sql }))[0]?.n);
    const begun = 'SELECT coalesce(sum(json_array_length(CAST(records AS json) -> 0)), 0) FROM usage_group';
    const open = await count(`SELECT count(*) + (${begun}) AS n FROM inflight`);
    const began = performance.now();
    await within(FROZEN_MS, async () => {
      stage.say('one stands still');
      await pause(500);
      return performance.now() - began >= FROZEN_MS;
    });
    const interrupted = `SELECT count(*) AS n FROM usage_request WHERE status = 'interrupted'`;
    const writtenOff = await count(interrupted);
    one.signal('SIGCONT');
    await pause(4000);
    await load.stop();
    for (const gateway of [one, two]) gateway.signal('SIGTERM');
    await Promise.all([one.ended, two.ended]);
    const used = await usageFigures(store, { ...TOKENS, served: chats.served, whole: load.whole });
    return [
      atLeast('requests under way when it stopped', open, 5),
      noted('taken for interrupted meanwhile', writtenOff),
      atLeast('answers read to their end', load.whole.size, 2 * ASKERS),
      ...used.figures,
      exactly('requests still taken for interrupted', used.interrupted, 0),
    ];
  },
};
