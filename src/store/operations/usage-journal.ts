/** Records of a journal: stored in batches, each once, together with the position that they end at. */

import { reading, writing } from '../operation.ts';
import { insertRequests } from '../request-rows.ts';
import { SumChanges } from '../sum-changes.ts';
import { type EncodedUsage, usageRowOf } from '../usage-row.ts';
import { recordedIds } from '../usage-settlement.ts';
import { changeSums } from '../usage-sums.ts';

/** Position up to which the records of a journal are in the store. */
export interface JournalPosition {
  segment: number;
  offset: number;
  /** First segment whose records are needed. */
  oldest: number;
}

export interface JournalBatch {
  /** Id of the journal. */
  journal: string;
  /** End of the batch. */
  position: JournalPosition;
  /** JSON arrays of the records, separated by commas; some in each text. */
  records: readonly string[];
}

/**
 * Stores the records of a batch. Where the position is not before its end, it was stored and the answer was lost, or a gateway
 * with a copy of the data folder is ahead in a journal of the same id: then only records that are not there are stored.
 */
export const storeJournalBatch = writing<JournalBatch, void>(
  'usage',
  async (transaction, { journal, position: { segment, offset, oldest }, records }) => {
    const values = { id: journal, segment, position: offset, oldest };
    const moved = await transaction.run(
      `INSERT INTO usage_journal (id, segment, position, oldest) VALUES (:id, :segment, :position, :oldest)
       ON CONFLICT (id) DO UPDATE SET segment = excluded.segment, position = excluded.position, oldest = excluded.oldest
       WHERE usage_journal.segment < excluded.segment
         OR (usage_journal.segment = excluded.segment AND usage_journal.position < excluded.position)`,
      values,
    );
    const changes = new SumChanges();
    // One text after another, so that few decoded objects live when the garbage collector runs: it copies each that does.
    for (const text of records) {
      let rows = (JSON.parse(`[${text}]`) as EncodedUsage[]).map(usageRowOf);
      if (moved === 0) {
        const known = await recordedIds(transaction, rows);
        rows = rows.filter(({ id }) => !known.has(id));
      }
      await insertRequests(transaction, rows);
      changes.add(rows);
    }
    await changeSums(transaction, changes);
  },
);

/** Place up to which the records of a journal are stored; undefined for an unknown journal. */
export const journalPosition = reading<{ journal: string }, JournalPosition | undefined>(
  'usage',
  async (transaction, { journal }) => {
    const sql = 'SELECT segment, position, oldest FROM usage_journal WHERE id = :journal';
    const [row] = await transaction.all(sql, { journal });
    return row && { segment: Number(row.segment), offset: Number(row.position), oldest: Number(row.oldest) };
  },
);
