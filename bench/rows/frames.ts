/** Streams with a frame each 10 ms: processor time per frame, requests included. */

import type { Figure } from '../figure.ts';
import { alternate, type Entry, needsWarmUp, WARM, warmUp } from '../measure.ts';
import { FRAMES_PER_STREAM } from '../programs/answers.ts';
import { frames, responsesFrames, translatedFrames, type Workload } from '../workload.ts';
import { costFigures, type Row, type Run, startPeers } from './row.ts';

const STREAMS = 64;
const STREAMS_EACH = 2;
const ROUNDS = 3;

export const frameRows: readonly Row[] = [frames, responsesFrames, translatedFrames].map((workload) => ({
  id: workload.id,
  title: workload.title,
  run: (run) => measureFrames(run, workload),
}));

async function measureFrames(run: Run, workload: Workload): Promise<Figure[]> {
  const peers = workload === frames ? await startPeers(run, workload) : [];
  try {
    const subjects = [...run.references, run.strict, ...run.against, ...peers];
    const entries = subjects.map((subject): Entry => ({ subject, workload }));
    const isPeer = ({ subject }: Entry) => peers.includes(subject);
    run.say('warming up');
    // Side by side: the upstream sets the pace of streams, and no core is busy.
    const load = { connections: STREAMS, seconds: WARM.seconds * run.scale };
    await Promise.all(
      entries.filter((entry) => needsWarmUp(entry) && !isPeer(entry)).map((entry) => warmUp(entry, load)),
    );
    // One after the other: some of them need a whole core for so many streams.
    for (const entry of entries.filter(isPeer)) await warmUp(entry, load);
    run.say('windows');
    const costs = await alternate(entries, {
      ...{ rounds: Math.max(2, Math.round(ROUNDS * run.scale)), connections: STREAMS },
      requestsOf: (entry) => STREAMS * (isPeer(entry) ? 1 : STREAMS_EACH),
    });
    const perFrame = costs.map((cost) => ({ ...cost, answersPerSecond: cost.answersPerSecond * FRAMES_PER_STREAM }));
    return costFigures(workload.id, 'cpu warm', perFrame, FRAMES_PER_STREAM);
  } finally {
    for (const peer of peers) await peer.stop();
  }
}
