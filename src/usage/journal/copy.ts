/**
 * Copies of journals beside the gateway that writes them, and their replay into a copy of the store that was made after
 * them. A record that was durable before is in one of the two: a segment is used again only once its records are stored.
 */

import { constants, copyFileSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { systemClock } from '../../core/clock.ts';
import { createPrivateFolder } from '../../security/file-modes.ts';
import type { Store } from '../../store/store.ts';
import { createStoreWriter } from './store-writer.ts';
import { headerOf, replayJournal, surveyJournal } from './survey.ts';

const JOURNAL_NAME = /^\d{1,4}$/;

/** Copies all used segments; returns the folders of the copies. */
export function copyJournals(root: string, target: string): string[] {
  if (!existsSync(root)) return [];
  const names = readdirSync(root).filter((name) => JOURNAL_NAME.test(name));
  return names.map((name) => copyJournal(join(root, name), join(target, name)));
}

/** The newest segment first: each of the others is complete by then, and the next one tells where it ends. */
function copyJournal(folder: string, target: string): string {
  createPrivateFolder(target);
  for (const segment of surveyJournal(folder, 0).segments.toReversed()) {
    const copy = join(target, segment.name);
    try {
      copyFileSync(join(folder, segment.name), copy, constants.COPYFILE_FICLONE);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      continue;
    }
    // A file that was used again meanwhile held only records that are in the store.
    const header = headerOf(copy);
    if (header?.sequence !== segment.sequence || header.journal !== segment.journal) rmSync(copy);
  }
  return target;
}

export interface JournalCopyOptions {
  /** The copy of the store. */
  store: Pick<Store, 'call' | 'engine'>;
  log: Pick<Logger, 'error'>;
}

/** Stores the records of a copied journal that the copied store lacks. Returns whether a part of it is damaged. */
export async function replayJournalCopy(folder: string, { store, log }: JournalCopyOptions): Promise<boolean> {
  const survey = surveyJournal(folder, 0);
  const last = survey.segments.at(-1);
  const position = await store.call('journalPosition', { journal: survey.id });
  // The gateway has stored all of the copied segments since.
  if (!last || (position && position.segment > last.sequence)) return false;
  const oldest = position?.oldest ?? survey.segments[0]?.sequence ?? 1;
  const writer = createStoreWriter({
    store,
    log,
    journal: survey.id,
    clock: systemClock,
    oldestNeeded: () => oldest,
    onStored: () => undefined,
  });
  let isDamaged = false;
  await replayJournal(survey, position, {
    onEnd({ payload, segment, offset }) {
      writer.add({ payload, segment, end: offset });
      return undefined;
    },
    onLoss() {
      // Where the position is in the last segment, that is only younger than its copy.
      isDamaged = position === undefined || position.segment < last.sequence;
    },
  });
  await new Promise<void>((resolve) => writer.flush(resolve));
  const { refused, lost, waiting } = writer;
  writer.close();
  return isDamaged || refused + lost + waiting > 0;
}
