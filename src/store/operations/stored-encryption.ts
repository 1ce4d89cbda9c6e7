/** Encrypted contents of stored responses, page by page, for a change of the encryption key. */

import type { StoredPart } from '../../records/stored-response.ts';
import { reading, writing } from '../operation.ts';

/** Contents after a row. */
export const scanStoredContents = reading<{ after: string; limit: number }, { row: string; content: Uint8Array }[]>(
  'state',
  async (transaction, values) => {
    const rows = await transaction.all(
      `SELECT row_id, content FROM stored_response WHERE content IS NOT NULL AND row_id > :after
     ORDER BY row_id LIMIT :limit`,
      values,
    );
    return rows.map(({ row_id, content }) => ({ row: String(row_id), content: content as Uint8Array }));
  },
);

/** Parts after an owner and a digest. */
export const scanStoredParts = reading<
  { owner: string; digest: string; limit: number },
  (StoredPart & { owner: string })[]
>('state', async (transaction, values) => {
  const rows = await transaction.all(
    `SELECT owner, digest, content FROM stored_part WHERE (owner, digest) > (:owner, :digest)
     ORDER BY owner, digest LIMIT :limit`,
    values,
  );
  return rows.map(({ owner, digest, content }) => ({
    owner: String(owner),
    digest: String(digest),
    content: content as Uint8Array,
  }));
});

/** Compare-and-set; false if the content was changed or deleted meanwhile. */
export const replaceStoredContent = writing<{ row: string; from: Uint8Array; to: Uint8Array }, boolean>(
  'state',
  async (transaction, values) => {
    const sql = 'UPDATE stored_response SET content = :to WHERE row_id = :row AND content = :from';
    return (await transaction.run(sql, { ...values })) > 0;
  },
);

/** Compare-and-set; false if the part was deleted meanwhile. */
export const replaceStoredPart = writing<{ owner: string; digest: string; from: Uint8Array; to: Uint8Array }, boolean>(
  'state',
  async (transaction, values) => {
    const sql = 'UPDATE stored_part SET content = :to WHERE owner = :owner AND digest = :digest AND content = :from';
    return (await transaction.run(sql, { ...values })) > 0;
  },
);
