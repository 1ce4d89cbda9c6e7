/** Journals of tests: small segments, and what a replay finds in them. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { systemClock } from '../../../src/core/clock.ts';
import type { RecordKind } from '../../../src/usage/journal/format.ts';
import { createJournal, type Journal } from '../../../src/usage/journal/journal.ts';
import {
  type FoundRecord,
  type JournalSurvey,
  replayJournal,
  type StoredPosition,
  surveyJournal,
} from '../../../src/usage/journal/survey.ts';
import { type BreakableDisk, breakableDisk } from './disks.ts';

export const SEGMENT_BYTES = 4096;
export function temporaryFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-journal-'));
  context.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

interface Opened {
  journal: Journal;
  survey: JournalSurvey;
  ends: FoundRecord[];
  open: Map<string, FoundRecord>;
  losses: { segments: number[]; bytes: number }[];
  failures: string[];
}

export async function openJournal(
  folder: string,
  { stored, disk = breakableDisk() }: { stored?: StoredPosition | undefined; disk?: BreakableDisk } = {},
): Promise<Opened> {
  const survey = surveyJournal(folder, SEGMENT_BYTES);
  const [ends, losses, failures]: [FoundRecord[], Opened['losses'], string[]] = [[], [], []];
  const { open, next } = await replayJournal(survey, stored, {
    onEnd: (record) => void ends.push(record),
    onLoss: (loss) => losses.push(loss),
  });
  const journal = createJournal({
    clock: systemClock,
    disk,
    folder,
    segmentBytes: SEGMENT_BYTES,
    sync: true,
    files: { names: survey.names, free: survey.blank },
    id: survey.id,
    next,
    groupDelayMs: 0,
    onDeleted() {},
    onFailure: (error) => failures.push(error.message),
    onRecovered: () => failures.push('recovered'),
  });
  for (const { sequence, name } of survey.segments) journal.keep(sequence, name);
  return { journal, survey, ends, open, losses, failures };
}

export interface Appended {
  segment: number;
  end: number;
}

export function append(journal: Journal, kind: RecordKind, id: string, text = ''): Promise<Appended> {
  return new Promise((resolve) => {
    const record = {
      kind,
      payload: JSON.stringify([id, text]),
      segment: 0,
      end: 0,
      onDurable: () => resolve({ segment: record.segment, end: record.end }),
    };
    journal.append(record);
  });
}

export const close = (journal: Journal) => new Promise<void>((resolve) => journal.close(resolve));
export const ids = (records: Iterable<FoundRecord>) => [...records].map(({ payload }) => JSON.parse(payload)[0]);
