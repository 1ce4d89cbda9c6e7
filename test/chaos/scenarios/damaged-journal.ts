/** The journal of usage records on a disk that tears its tail, loses a segment, or stalls. */

import { join } from 'node:path';
import { type ChatUpstream, startChats } from '../chat-upstream.ts';
import { createFaultyWrites } from '../faulty-writes.ts';
import { atLeast, atMost, exactly, type Figure, noted, notRun } from '../figures.ts';
import { ask, freePort, type Gateway, startGateway } from '../gateway.ts';
import { journalOf, loseSegment, TEARS, tear, unstored } from '../journals.ts';
import { prefixed, usageFigures } from '../ledgers.ts';
import { type Load, startLoad } from '../load.ts';
import { between, pause, type Scenario, type Stage, within } from '../stage.ts';
import { openData } from '../store.ts';

const ASKERS = 16;
const TOKENS = { input: 7, output: 11 };
/** Each kind of torn tail as often. */
const ROUNDS = 2;
const LOSSES = 3;
const STALL_MS = 4_000;
const STALLS_FOR_MS = 12_000;
const READY_WITHIN_MS = 5_000;

export const damagedJournal: Scenario = {
  id: 'damaged-journal',
  title: 'A journal that is torn, loses a segment, or whose disk stalls',
  how:
    `${ASKERS} clients send requests over three protocols, whole and streamed. Torn tail: the gateway is killed ${ROUNDS * TEARS.length} times, and what a power cut may leave of a write is put behind the last record: nothing, ` +
    `half of a record, a whole and half of another, other bytes, a later page. Lost segment: the file in which the store's position is goes, ${LOSSES} times. Stalled disk: strace makes each write to the journal take ` +
    `${STALL_MS / 1000} s, for ${STALLS_FOR_MS / 1000} s.`,
  patient: true,
  async run(stage) {
    return (await Promise.all([torn(stage), lost(stage), stalled(stage)])).flat();
  },
};

interface Rig {
  folder: string;
  chats: ChatUpstream;
  load: Load;
  start(): Promise<Gateway>;
}

async function prepare(stage: Stage): Promise<Rig> {
  const chats = await startChats(stage, { ...TOKENS, delay: [5, 40] });
  const folder = stage.folder();
  const port = await freePort();
  const load = startLoad(stage, { url: `http://127.0.0.1:${port}`, askers: ASKERS });
  const yaml = `providers: { chat: ${chats.entry} }`;
  return { folder, chats, load, start: () => startGateway(stage, { folder, port, yaml }) };
}

async function torn(stage: Stage): Promise<Figure[]> {
  const { folder, chats, load, start } = await prepare(stage);
  const kills = Array.from({ length: ROUNDS }, () => TEARS).flat();
  const held = { ended: 0, open: 0 };
  for (const [index, kind] of kills.entries()) {
    const gateway = await start();
    const { size } = load.whole;
    await within(READY_WITHIN_MS, () => load.whole.size > size);
    await pause(between(500, 1500));
    await gateway.kill();
    const { ended, open } = await unstored(folder);
    held.ended += ended;
    held.open += open;
    tear(folder, kind);
    stage.say(`torn tail ${index + 1} of ${kills.length}, ${load.whole.size} answers`);
  }
  const last = await start();
  await pause(1500);
  await load.stop();
  last.signal('SIGTERM');
  await last.ended;
  const store = await openData(folder);
  const { figures, unserved } = await usageFigures(store, { ...TOKENS, served: chats.served, whole: load.whole });
  await store.close();
  return prefixed('torn tail', [
    noted('kills', kills.length),
    atLeast('answers read to their end', load.whole.size, 200),
    noted('records that only the journal held at a kill', held.ended),
    noted('open requests at a kill', held.open),
    ...figures,
    atMost('records of requests that were never served', unserved, kills.length * (ASKERS + 2)),
    exactly('taken for a loss', lossesIn(last), 0),
  ]);
}

function lossesIn(gateway: Gateway): number {
  return gateway.log().split('a part of the journal is missing or damaged').length - 1;
}

async function lost(stage: Stage): Promise<Figure[]> {
  const { folder, chats, load, start } = await prepare(stage);
  const figures = { told: 0, ready: 0, held: 0 };
  for (let number = 1; number <= LOSSES; number++) {
    const gateway = await start();
    figures.ready += Number(await becomesReady(gateway));
    await pause(between(1500, 3000));
    await gateway.kill();
    const { ended } = await unstored(folder);
    figures.held += ended;
    await loseSegment(folder);
    stage.say(`lost segment ${number} of ${LOSSES}`);
  }
  const last = await start();
  figures.ready += Number(await becomesReady(last));
  await pause(1500);
  await load.stop();
  last.signal('SIGTERM');
  await last.ended;
  figures.told = lossesIn(last);
  const { missing, twice } = await compare(folder, load);
  return prefixed('lost segment', [
    exactly('starts that were ready', figures.ready, LOSSES + 1),
    exactly('losses that the log tells', figures.told, LOSSES),
    atLeast('answers read to their end', load.whole.size, 200),
    atMost('of them without a record, at most those that only the journal held', missing, figures.held),
    exactly('answers with two records', twice, 0),
    noted('answers that the upstream served', chats.served.size),
  ]);
}

function becomesReady(gateway: Gateway): Promise<boolean> {
  return within(READY_WITHIN_MS, () => isReady(gateway));
}

async function isReady({ url }: Gateway): Promise<boolean> {
  return (await ask(`${url}/readyz`)).status === 200;
}

async function compare(folder: string, { whole }: Load): Promise<{ missing: number; twice: number }> {
  const store = await openData(folder);
  const records = await store.do('askUsage', {
    sql: `SELECT upstream_id, count(*) AS n FROM usage_request WHERE status = 'completed' GROUP BY upstream_id`,
  });
  await store.close();
  const known = new Map(records.map(({ upstream_id, n }) => [String(upstream_id), Number(n)]));
  return {
    missing: [...whole].filter((id) => !known.has(id)).length,
    twice: [...known.values()].filter((times) => times > 1).length,
  };
}

async function stalled(stage: Stage): Promise<Figure[]> {
  const { folder, chats, load, start } = await prepare(stage);
  const segments = Array.from({ length: 20 }, (_, index) => `${String(index + 1).padStart(4, '0')}.journal`);
  const paths = segments.map((name) => join(journalOf(folder), name));
  const faults = createFaultyWrites(stage, { paths, fault: `delay_enter=${STALL_MS * 1000}` });
  if (!faults) return [notRun('stalled disk', 'strace is not installed or may not attach')];
  const gateway = await start();
  await pause(1500);
  await faults.begin(gateway.pid);
  const began = performance.now();
  const seen = { unready: 0, dead: 0, slowest: 0, refused: 0, wrong: 0 };
  while (performance.now() - began < STALLS_FOR_MS) {
    const asked = performance.now();
    const [alive, ready, created] = await Promise.all([
      ask(`${gateway.url}/healthz`).catch(() => undefined),
      ask(`${gateway.url}/readyz`).catch(() => undefined),
      refusal(gateway),
    ]);
    seen.slowest = Math.max(seen.slowest, performance.now() - asked);
    seen.dead += Number(alive?.status !== 200);
    seen.unready += Number(ready?.status === 503);
    seen.refused += Number(created === 'refused');
    seen.wrong += Number(created === 'wrong');
    stage.say(`stalled disk: ${seen.refused} refused`);
    await pause(200);
  }
  await faults.end();
  const ended = performance.now();
  await becomesReady(gateway);
  const readyAfter = (performance.now() - ended) / 1000;
  await pause(1000);
  await load.stop();
  gateway.signal('SIGTERM');
  await gateway.ended;
  const store = await openData(folder);
  const { figures } = await usageFigures(store, { ...TOKENS, served: chats.served, whole: load.whole });
  await store.close();
  return prefixed('stalled disk', [
    exactly('failed `/healthz` requests', seen.dead, 0),
    atLeast('times that it said not to be ready', seen.unready, 3),
    atLeast('requests refused with 503 and Retry-After', seen.refused, 3),
    exactly('requests answered otherwise', seen.wrong, 0),
    atMost('ready after its end', readyAfter, READY_WITHIN_MS / 1000, 's'),
    atLeast('answers read to their end', load.whole.size, 50),
    ...figures,
  ]);
}

/** A request may also wait for its turn in the journal: then its client gives up. */
async function refusal({ url }: Gateway): Promise<'refused' | 'waits' | 'wrong'> {
  const body = { model: 'chat/chat', messages: [{ role: 'user', content: 'Question' }] };
  const answer = await ask(`${url}/v1/chat/completions`, body, { patience: 500 }).catch(() => undefined);
  if (answer === undefined || answer.status === 200) return 'waits';
  return answer.status === 503 && Number(answer.headers.get('retry-after')) > 0 ? 'refused' : 'wrong';
}
