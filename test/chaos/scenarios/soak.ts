/** Mixed load for a long time, with the memory sampled that is left after a full garbage collection. */

import { startChats } from '../chat-upstream.ts';
import { atLeast, atMost, exactly, noted } from '../figures.ts';
import { startFilms } from '../film-upstream.ts';
import { startGateway } from '../gateway.ts';
import { INSPECTED, probeHeap } from '../heap.ts';
import { startHooks } from '../hooks.ts';
import { usageFigures, videoFigures } from '../ledgers.ts';
import { startLoad } from '../load.ts';
import { pause, type Scenario, within } from '../stage.ts';
import { openData } from '../store.ts';

const DEFAULT_MINUTES = 1.2;
const SAMPLES = 6;
/** Of the time, until caches are filled and code is compiled. */
const WARM_UP = 0.25;
const TOKENS = { input: 7, output: 11 };
const MIB = 1024 * 1024;
/** Bytes of memory that a request may leave for good: more than a row of a bounded table that is not yet full. */
const LEFT_BY_REQUEST = 600;

export const soak: Scenario = {
  id: 'soak',
  title: 'Mixed load over time, with memory samples',
  how:
    'Answers over three protocols, whole and streamed, and videos with webhooks. After a quarter of the time the live memory (heap and buffers after a full garbage collection) is sampled ' +
    `${SAMPLES} times; a line through the samples shows what a request leaves behind. \`--minutes 120\` makes it last two hours.`,
  async run(stage) {
    const total = (stage.minutes ?? DEFAULT_MINUTES) * 60_000;
    const chats = await startChats(stage, { ...TOKENS, delay: [1, 5] });
    const films = await startFilms(stage, { doneIn: 1500 });
    const hooks = await startHooks(stage, 2);
    const folder = stage.folder();
    const yaml = `providers: { chat: ${chats.entry}, film: ${films.entry} }`;
    const gateway = await startGateway(stage, { folder, yaml, under: INSPECTED });
    const probe = await probeHeap(gateway.log);
    stage.atEnd(probe.close);
    const load = startLoad(stage, {
      ...{ url: gateway.url, askers: 8, creators: 2, hooks: hooks.urls, rest: 5, videoRest: 500 },
    });
    await pause(total * WARM_UP);
    const samples: { requests: number; live: number; rss: number }[] = [];
    for (let sample = 0; sample < SAMPLES; sample++) {
      if (sample > 0) await pause((total * (1 - WARM_UP)) / (SAMPLES - 1));
      const { heap, external, rss } = await probe.live();
      samples.push({ requests: load.whole.size, live: heap + external, rss });
      stage.say(`${load.whole.size} answers, ${((heap + external) / MIB).toFixed(1)} MiB`);
    }
    // A process waits for its debugger before it ends.
    probe.close();
    await load.stop();
    await within(20_000, () => hooks.got.size >= load.created.size);
    gateway.signal('SIGTERM');
    await gateway.ended;
    const store = await openData(folder);
    const used = await usageFigures(store, { ...TOKENS, served: chats.served, whole: load.whole });
    const videos = await videoFigures(store, { created: load.created, upstream: films, hooks });
    await store.close();
    const wrong = [...used.figures, ...videos].filter(({ verdict }) => verdict === 'MISSED');
    const failed = [...load.statuses].filter(([status]) => status !== 200);
    return [
      atLeast('answers', load.whole.size, 500),
      noted('tasks', load.created.size),
      exactly(
        'answers with another status',
        failed.map(([status, n]) => `${n} × ${status}`).join(', ') || 'none',
        'none',
      ),
      noted('live memory, first sample', (samples[0]?.live ?? 0) / MIB, 'MiB'),
      noted('live memory, last sample', (samples.at(-1)?.live ?? 0) / MIB, 'MiB'),
      noted('resident memory, largest sample', Math.max(...samples.map(({ rss }) => rss)) / MIB, 'MiB'),
      atMost('live memory that a request leaves', Math.max(0, slopeOf(samples)), LEFT_BY_REQUEST, 'bytes'),
      exactly(
        'figures of records and tasks that are wrong',
        wrong.map(({ name }) => name).join(', ') || 'none',
        'none',
      ),
    ];
  },
};

/** Bytes per request, by least squares. */
function slopeOf(samples: readonly { requests: number; live: number }[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const x = mean(samples.map(({ requests }) => requests));
  const y = mean(samples.map(({ live }) => live));
  const covariance = mean(samples.map(({ requests, live }) => (requests - x) * (live - y)));
  const variance = mean(samples.map(({ requests }) => (requests - x) ** 2));
  return variance === 0 ? 0 : covariance / variance;
}
