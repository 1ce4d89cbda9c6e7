/**
 * Short form of the benchmark: fails where the processor time of a request, in proportion to that of the bare relay, is 30 % above
 * the committed baseline, the worst of three tries, in each of three. Counts requests, not seconds, so that a busy machine measures the same.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { alternate, type Entry, median, warmUp } from './measure.ts';
import { commitOf, RESULTS_FOLDER } from './report/results.ts';
import { startBare } from './subjects/bare.ts';
import { startPolygate } from './subjects/polygate.ts';
import type { Subject } from './subjects/subject.ts';
import { startUpstreams } from './subjects/upstreams.ts';
import { frames, medium, messagesToChat, passthrough, responsesFrames, type Workload } from './workload.ts';

const BASELINE = join(RESULTS_FOLDER, 'baseline.json');
/** Share of the baseline that a ratio may reach. */
const ALLOWED = 1.3;
const TRIES = 3;
/** Processor time that a frame of a relayed Responses stream may take, by that of chat completions in the same run. */
const RESPONSES_TO_CHAT = 1.1;
const STREAMS = { connections: 64, requests: 64 };
/** The time of one window of streams varies by half with the number of frames that arrive in the same turn of the event loop. */
const STREAM_ROUNDS = 10;
/** Those of chat completions have been measured before. */
const RESPONSES_WARM_UP = 256;

interface Check {
  workload: Workload;
  connections: number;
  /** Requests of the gateway before the first window, and in each; the relay gets several times as many. */
  warmUp: number;
  requests: number;
  rounds: number;
  relayFactor: number;
}

const CHECKS: readonly Check[] = [
  { workload: passthrough, connections: 32, warmUp: 5000, requests: 1000, rounds: 5, relayFactor: 4 },
  { workload: messagesToChat, connections: 32, warmUp: 1500, requests: 700, rounds: 5, relayFactor: 4 },
  { workload: medium, connections: 16, warmUp: 300, requests: 120, rounds: 5, relayFactor: 4 },
  { workload: frames, connections: 64, warmUp: 64, requests: 64, rounds: 3, relayFactor: 1 },
];

interface Baseline {
  commit: string;
  /** Processor time by that of the bare relay. */
  ratios: Record<string, number>;
}

export interface CheckOptions {
  /** Keeps the measured ratios as the new baseline. */
  write: boolean;
  say(text: string): void;
}

/** True where no ratio is too large. */
export async function check({ write, say }: CheckOptions): Promise<boolean> {
  const baseline = readBaseline();
  if (!baseline && !write) throw new Error('There is no baseline: write one with --check --write-baseline.');
  const upstreams = await startUpstreams();
  const bare = await startBare(upstreams);
  const gateway = await startPolygate({ name: 'strict', upstreams });
  const ratios: Record<string, number> = {};
  for (const one of CHECKS) {
    const { id, title } = one.workload;
    const limit = write ? 0 : (baseline?.ratios[id] ?? Number.POSITIVE_INFINITY) * ALLOWED;
    const tries: number[] = [];
    while (tries.length < TRIES && !tries.some((ratio) => ratio <= limit)) {
      const ratio = await measureRatio(one, { bare, gateway });
      tries.push(ratio);
      say(`${title}: ${ratio.toFixed(2)} x bare${write ? '' : `, at most ${limit.toFixed(2)} allowed`}`);
    }
    // One that is too slow decides the check.
    const isTooSlow = !write && tries.every((ratio) => ratio > limit);
    ratios[id] = Number((write ? Math.max(...tries) : Math.min(...tries)).toPrecision(4));
    if (isTooSlow) break;
  }
  const isEven = write || (await comparesStreams(gateway, say));
  for (const subject of [bare, gateway]) await subject.stop();
  await upstreams.stop();
  if (write) writeBaseline({ commit: commitOf(), ratios });
  return write || (verdict(ratios, baseline, say) && isEven);
}

/** Whether a relayed stream of Responses costs as much as one of chat completions in one of three tries; both have the same number of frames. */
async function comparesStreams(gateway: Subject, say: (text: string) => void): Promise<boolean> {
  const chat: Entry = { subject: gateway, workload: frames };
  const responses: Entry = { subject: gateway, workload: responsesFrames };
  await warmUp(responses, { ...STREAMS, requests: RESPONSES_WARM_UP });
  for (let tries = 0; tries < TRIES; tries++) {
    const ratio = await measureQuotient(responses, chat);
    say(`${responsesFrames.title}: ${ratio.toFixed(2)} x chat, at most ${RESPONSES_TO_CHAT} allowed`);
    if (ratio <= RESPONSES_TO_CHAT) return true;
  }
  say('TOO SLOW: a relayed stream of Responses takes more than one of chat completions');
  return false;
}

/** Median of the ratios of neighbouring windows: both grow warmer in the meantime. */
async function measureQuotient(entry: Entry, reference: Entry): Promise<number> {
  const ratios: number[] = [];
  while (ratios.length < STREAM_ROUNDS) {
    const [own, other] = await alternate([entry, reference], { ...STREAMS, rounds: 1 });
    const failure = own?.failure ?? other?.failure;
    if (!own || !other || failure !== undefined) throw new Error(`streams: ${failure ?? 'no answers'}`);
    ratios.push(own.cpu / other.cpu);
  }
  return median(ratios);
}

async function measureRatio(
  { workload, connections, warmUp: count, requests, rounds, relayFactor }: Check,
  { bare, gateway }: { bare: Subject; gateway: Subject },
): Promise<number> {
  const reference: Entry = { subject: bare, workload };
  const measured: Entry = { subject: gateway, workload };
  await warmUp(reference, { connections, requests: count * relayFactor });
  await warmUp(measured, { connections, requests: count });
  const costs = await alternate([reference, measured], {
    ...{ rounds, connections, requests },
    requestsOf: (entry) => (entry === reference ? requests * relayFactor : requests),
  });
  const { toBare, failure } = costs[1] ?? {};
  if (toBare === undefined || failure !== undefined) throw new Error(`${workload.title}: ${failure ?? 'no answers'}`);
  return toBare;
}

function verdict(ratios: Record<string, number>, baseline: Baseline | undefined, say: (text: string) => void): boolean {
  let isFine = true;
  for (const [id, ratio] of Object.entries(ratios)) {
    const expected = baseline?.ratios[id] ?? Number.POSITIVE_INFINITY;
    if (ratio > expected * ALLOWED) {
      isFine = false;
      say(`TOO SLOW: ${id} takes ${ratio} x the bare relay; the baseline of ${baseline?.commit} is ${expected} x`);
    } else if (ratio * ALLOWED < expected) {
      say(`${id} is faster than the baseline (${ratio} instead of ${expected}): --check --write-baseline keeps that`);
    }
  }
  return isFine;
}

function readBaseline(): Baseline | undefined {
  return existsSync(BASELINE) ? (JSON.parse(readFileSync(BASELINE, 'utf8')) as Baseline) : undefined;
}

function writeBaseline(baseline: Baseline): void {
  writeFileSync(BASELINE, `${JSON.stringify(baseline, undefined, 2)}\n`);
}
