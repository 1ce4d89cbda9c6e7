/** Limits and budgets of tags that operators set while gateways run. */

import { isDeepStrictEqual } from 'node:util';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { merged } from '../../core/json/merge.ts';
import type { Allotment } from '../../records/key-settings.ts';
import { addAudit } from '../audit-rows.ts';
import { type Row, reading, type Transaction, writing } from '../operation.ts';
import { nextVersion, versionOf } from '../version-rows.ts';
import type { AuditedChange } from './keys.ts';

/** Every gateway holds all of them in memory. */
const MAX_ALLOTTED_TAGS = 10_000;

export interface StoredAllotment {
  allotment: Allotment;
  /** Unix milliseconds of its last change; no two have the same. */
  updatedAt: number;
}

export interface StoredAllotments {
  version: number;
  /** By `<name>=<value>`; absent if nothing changed since the known version. */
  allotments?: [tag: string, stored: StoredAllotment][];
}

/** Allotments of all tags; absent if `known` is their current version. */
export const readTagAllotments = reading<{ known?: number | undefined }, StoredAllotments>(
  'state',
  async (transaction, { known }) => {
    // Version before rows: a change in between is seen by the next look.
    const version = await versionOf(transaction, 'tags');
    if (version === known) return { version };
    const rows = await transaction.all('SELECT tag, allotment, updated_at FROM tag_allotment');
    return { version, allotments: rows.map((row) => [String(row.tag), storedOf(row)]) };
  },
);

/** Replaces the limits and budgets of a tag. Throws `invalid_request` if too many tags have some. */
export const setTagAllotment = writing<AuditedChange & { tag: string; allotment: Allotment }, void>(
  'state',
  async (transaction, { tag, allotment, author, now }) => {
    await nextVersion(transaction, 'tags');
    const before = (await storedAllotment(transaction, tag))?.allotment;
    await putAllotment(transaction, { tag, author, now, before, allotment });
  },
);

export interface TagPatch extends AuditedChange {
  tag: string;
  /** Merged into its limits and budgets. */
  patch: Json;
  /**
   * Unix milliseconds of the last change that the author of this one knows, null if the tag had no limits and no budgets; absent if
   * it does not matter.
   */
  unchangedSince?: number | null;
}

/**
 * Changes the members of a tag's limits and budgets that a merge patch has. Throws `changed_meanwhile`, and `invalid_request` like
 * `setTagAllotment`, and if none is left.
 */
export const changeTagAllotment = writing<TagPatch, void>(
  'state',
  async (transaction, { tag, patch, unchangedSince, author, now }) => {
    await nextVersion(transaction, 'tags');
    const stored = await storedAllotment(transaction, tag);
    if (unchangedSince !== undefined && unchangedSince !== (stored?.updatedAt ?? null))
      throw new GatewayError('changed_meanwhile', `The tag ${tag} was changed by somebody else meanwhile.`);
    const before = stored?.allotment;
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
    const stored = await storedAllotment(transaction, tag);
    if (!stored) throw new GatewayError('not_found', `The tag ${tag} has no limits and no budgets.`);
    await transaction.run('DELETE FROM tag_allotment WHERE tag = :tag', { tag });
    await addAudit(transaction, { author, at: now, action: 'tag.remove', subject: tag, before: stored.allotment });
  },
);

interface AllotmentChange extends AuditedChange {
  tag: string;
  before: Allotment | undefined;
  allotment: Allotment;
}

/** Later than the change before, however the clocks of gateways differ: the time tells the states of a tag apart. */
const CHANGED_AT = `CASE WHEN tag_allotment.updated_at < excluded.updated_at
  THEN excluded.updated_at ELSE tag_allotment.updated_at + 1 END`;

/** A change that changes nothing is not audited. */
async function putAllotment(
  transaction: Transaction,
  { tag, author, now, before, allotment }: AllotmentChange,
): Promise<void> {
  if (isDeepStrictEqual(before, allotment)) return;
  if (!before) await requireRoom(transaction);
  await transaction.run(
    `INSERT INTO tag_allotment (tag, allotment, updated_at) VALUES (:tag, :allotment, :now)
     ON CONFLICT (tag) DO UPDATE SET allotment = excluded.allotment, updated_at = ${CHANGED_AT}`,
    { tag, allotment: JSON.stringify(allotment), now },
  );
  const entry = { author, at: now, action: 'tag.set', subject: tag, after: allotment };
  await addAudit(transaction, { ...entry, ...(before && { before }) });
}

async function storedAllotment(transaction: Transaction, tag: string): Promise<StoredAllotment | undefined> {
  const [row] = await transaction.all('SELECT allotment, updated_at FROM tag_allotment WHERE tag = :tag', { tag });
  return row && storedOf(row);
}

function storedOf({ allotment, updated_at: updatedAt }: Row): StoredAllotment {
  return { allotment: JSON.parse(String(allotment)), updatedAt: Number(updatedAt) };
}

async function requireRoom(transaction: Transaction): Promise<void> {
  const [row] = await transaction.all('SELECT count(*) AS n FROM tag_allotment');
  if (Number(row?.n) < MAX_ALLOTTED_TAGS) return;
  const message = `At most ${MAX_ALLOTTED_TAGS} tags have limits or budgets; remove those of another.`;
  throw new GatewayError('invalid_request', message, { param: 'tag' });
}
