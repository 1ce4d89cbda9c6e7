/** Journals of a gateway that is down: what only they hold, and what a disk can do to them. */

import { randomBytes } from 'node:crypto';
import { closeSync, openSync, rmSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { newRequestId } from '../../src/core/request-id.ts';
import { readSegmentFile } from '../../src/usage/journal/disk.ts';
import { maxRecordBytes, RECORD_KINDS, scanSegment, sealRecord, writeRecord } from '../../src/usage/journal/format.ts';
import { encodeBegin } from '../../src/usage/journal/records.ts';
import { replayJournal, surveyJournal } from '../../src/usage/journal/survey.ts';
import { openData } from './store.ts';

/** What a power cut amid a write may leave behind the last durable record. */
export const TEARS = ['cut', 'half', 'whole and half', 'garbage', 'later page'] as const;
export type Tear = (typeof TEARS)[number];

const PAGE_BYTES = 4096;
const SMALLEST_SEGMENT_BYTES = 1024 * 1024;

/** That of the only process of a gateway with this folder. */
export function journalOf(folder: string): string {
  return join(folder, 'data', 'journal', '1');
}

function survey(folder: string) {
  return surveyJournal(journalOf(folder), SMALLEST_SEGMENT_BYTES);
}

async function positionOf(folder: string) {
  const store = await openData(folder);
  try {
    return await store.call('journalPosition', { journal: survey(folder).id });
  } finally {
    await store.close();
  }
}

/** Number of records that are durable and not in the store yet, and of requests that have begun and not ended. */
export async function unstored(folder: string): Promise<{ ended: number; open: number }> {
  let ended = 0;
  const { open } = await replayJournal(survey(folder), await positionOf(folder), {
    onEnd: () => {
      ended += 1;
      return undefined;
    },
    onLoss: ({ segments, bytes }) => {
      throw new Error(`segments ${segments} and ${bytes} bytes are missing`);
    },
  });
  return { ended, open: open.size };
}

/** Leaves behind the last record what a power cut amid the next write may leave. */
export function tear(folder: string, kind: Tear): void {
  const { segments } = survey(folder);
  const last = segments.at(-1);
  if (!last) throw new Error('the journal is empty');
  const { end } = scanSegment(readSegmentFile(journalOf(folder), last.name), { seed: last.seed }, () => undefined);
  const path = join(journalOf(folder), last.name);
  if (kind === 'cut') {
    truncateSync(path, end);
    return;
  }
  const [one, two] = [beginOf(last.seed), beginOf(last.seed)];
  const half = two.subarray(0, two.length / 2);
  const left: Record<Exclude<Tear, 'cut'>, { bytes: Buffer; at: number }> = {
    half: { bytes: half, at: end },
    'whole and half': { bytes: Buffer.concat([one, half]), at: end },
    garbage: { bytes: randomBytes(700), at: end },
    'later page': { bytes: Buffer.concat([one, two]), at: end + PAGE_BYTES },
  };
  const { bytes, at } = left[kind];
  const fd = openSync(path, 'r+');
  writeSync(fd, bytes, 0, bytes.length, at);
  closeSync(fd);
}

/** A record of a request that begins. */
function beginOf(seed: number): Buffer {
  const payload = encodeBegin({
    ...{ id: newRequestId(Date.now()), startedAt: Date.now(), keyId: 'config:chaos', tags: '', model: 'chat/chat' },
    ...{ endpoint: { provider: 'chat', model: 'chat' }, protocolIn: 'chat', protocolOut: 'chat', stream: false },
    estimate: { input: 1, cost: 0n },
  });
  const bytes = Buffer.alloc(maxRecordBytes(payload));
  const length = writeRecord(bytes, 0, RECORD_KINDS.begin, payload);
  sealRecord(bytes, 0, seed);
  return bytes.subarray(0, length);
}

/** Removes the segment in which the store's position is; returns its number. */
export async function loseSegment(folder: string): Promise<number> {
  const position = await positionOf(folder);
  const lost = survey(folder).segments.find(({ sequence }) => sequence === position?.segment);
  if (!lost) throw new Error('no segment is needed');
  rmSync(join(journalOf(folder), lost.name));
  return lost.sequence;
}
