/** Limits and budgets of tags that operators set while gateways run. */

import { isDeepStrictEqual } from 'node:util';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { merged } from '../../core/json/merge.ts';
import type { Allotment } from '../../records/key-settings.ts';
import { addAudit } from '../audit-rows.ts';
import { reading, type Transaction, writing } from '../operation.ts';
import { nextVersion, versionOf } from '../version-rows.ts';
import type { AuditedChange } from './keys.ts';

/** Every gateway holds all of them in memory. */
const MAX_ALLOTTED_TAGS = 10_000;

export interface StoredAllotments {
  version: number;
  /** By `<name>=<value>`; absent if nothing changed since the known version. */
  allotments?: [tag: string, allotment: Allotment][];
}

/** Allotments of all tags; absent if `known` is their current version. */
export const readTagAllotments = reading<{ known?: number | undefined }, StoredAllotments>(
  'state',
  async (transaction, { known }) => {
    // Version before rows: a change in between is seen by the next look.
    const version = await versionOf(transaction, 'tags');
    if (version === known) return { version };
    const rows = await transaction.all('SELECT tag, allotment FROM tag_allotment');
    return { version, allotments: rows.map(({ tag, allotment }) => [String(tag), JSON.parse(String(allotment))]) };
  },
);

/** Replaces the limits and budgets of a tag. Throws `invalid_request` if too many tags have some. */
export const setTagAllotment = writing<AuditedChange & { tag: string; allotment: Allotment }, void>(
  'state',
  async (transaction, { tag, allotment, author, now }) => {
    await nextVersion(transaction, 'tags');
    await putAllotment(transaction, { tag, author, now, before: await storedAllotment(transaction, tag), allotment });
  },
);

/** Changes the members of a tag's limits and budgets that a merge patch has. Throws `invalid_request` like `setTagAllotment`, and if none is left. */
export const changeTagAllotment = writing<AuditedChange & { tag: string; patch: Json }, void>(
  'state',
  async (transaction, { tag, patch, author, now }) => {
    await nextVersion(transaction, 'tags');
    const before = await storedAllotment(transaction, tag);
    const { limits = {}, budgets = {} }: Allotment = merged(before ?? {}, patch);
    if (Object.keys(limits).length + Object.keys(budgets).length === 0) {
      const message = 'limits or budgets must have an entry; DELETE takes all of them back.';
      throw new GatewayError('invalid_request', message, { param: 'limits' });
    }
    await putAllotment(transaction, { tag, author, now, before, allotment: { limits, budgets } });
  },
);

/** Throws `not_found` if the tag has none. */
export const removeTagAllotment = writing<AuditedChange & { tag: string }, void>(
  'state',
  async (transaction, { tag, author, now }) => {
    await nextVersion(transaction, 'tags');
    const before = await storedAllotment(transaction, tag);
    if (!before) throw new GatewayError('not_found', `The tag ${tag} has no limits and no budgets.`);
    await transaction.run('DELETE FROM tag_allotment WHERE tag = :tag', { tag });
    await addAudit(transaction, { author, at: now, action: 'tag.remove', subject: tag, before });
  },
);

interface AllotmentChange extends AuditedChange {
  tag: string;
  before: Allotment | undefined;
  allotment: Allotment;
}

/** A change that changes nothing is not audited. */
async function putAllotment(
  transaction: Transaction,
  { tag, author, now, before, allotment }: AllotmentChange,
): Promise<void> {
  if (isDeepStrictEqual(before, allotment)) return;
  if (!before) await requireRoom(transaction);
  await transaction.run(
    `INSERT INTO tag_allotment (tag, allotment, updated_at) VALUES (:tag, :allotment, :now)
     ON CONFLICT (tag) DO UPDATE SET allotment = excluded.allotment, updated_at = excluded.updated_at`,
    { tag, allotment: JSON.stringify(allotment), now },
  );
  const entry = { author, at: now, action: 'tag.set', subject: tag, after: allotment };
  await addAudit(transaction, { ...entry, ...(before && { before }) });
}

async function storedAllotment(transaction: Transaction, tag: string): Promise<Allotment | undefined> {
  const [row] = await transaction.all('SELECT allotment FROM tag_allotment WHERE tag = :tag', { tag });
  return row && JSON.parse(String(row.allotment));
}

async function requireRoom(transaction: Transaction): Promise<void> {
  const [row] = await transaction.all('SELECT count(*) AS n FROM tag_allotment');
  if (Number(row?.n) < MAX_ALLOTTED_TAGS) return;
  const message = `At most ${MAX_ALLOTTED_TAGS} tags have limits or budgets; remove those of another.`;
  throw new GatewayError('invalid_request', message, { param: 'tag' });
}
