/** Items of stored responses by their ids, and ids of the items that had none. */

import { isStorableId } from '../core/answer-id.ts';
import type { Json } from '../core/json/json.ts';
import { asInput, isReference } from '../protocols/responses/stored.ts';
import type { FoundItems } from '../store/operations/stored-responses.ts';
import { type ContentReader, createContentReader, type StoredContent } from './content.ts';
import { readReserved, readWhole, type StoredContext, wholeBytesOf } from './context.ts';
import { asSent, decodeItems } from './conversation-content.ts';
import { changingConversation } from './errors.ts';

/** An item of which the gateway has the content, or the account that keeps it. */
export type LocatedItem = { item: Json; bytes: number } | { provider: string; credential: string };

export type ItemSearch = (ids: readonly string[]) => Promise<ReadonlyMap<string, LocatedItem> | 'too-long'>;

/** Row and index in an id that `unnamedItemId` made. */
const UNNAMED_ITEM_ID = /^[a-z]{2,6}_([0-9a-f]{32})([0-9a-f]{4,6})$/;

/** Id of an item that has none of its own, by its index among the input and output items of its response. */
export function unnamedItemId(prefix: string, row: string, index: number): string {
  return `${prefix}_${row}${index.toString(16).padStart(4, '0')}`;
}

export interface Reader {
  owner: string;
  /** Called with the size of contents, before they are read unless they are small. Fails if there is no room for it. */
  reserve(bytes: number): void | Promise<void>;
}

/** Finds items of one owner; unknown ids are absent. */
export function createItemSearch(
  { store, cipher, clock, settings }: StoredContext,
  { owner, reserve }: Reader,
): ItemSearch {
  return async (ids) => {
    const { maxChainItems, maxChainBytes } = settings();
    const wanted = [...new Set(ids)].filter(isStorableId);
    if (wanted.length > maxChainItems) return 'too-long';
    const rows = [...new Set(wanted.flatMap((id) => UNNAMED_ITEM_ID.exec(id)?.[1] ?? []))];
    const query = { owner, now: clock.now(), maxBytes: maxChainBytes };
    const read = await readWhole(reserve, async (more) => {
      const found = await readReserved(
        (room) => store.call('findStoredItems', { ...query, ids: wanted, rows, room }),
        more,
        (items) => (items === 'too-long' ? 0 : wholeBytesOf(items.responses)),
      );
      return found === 'too-long' ? found : locate(wanted, found, createContentReader(owner, found.parts, cipher));
    });
    if (read === 'too-long') return read;
    const located = read ?? new Map<string, LocatedItem>();
    const missing = wanted.filter((id) => !located.has(id));
    if (missing.length === 0) return located;
    const others = await readWhole(reserve, async (more) => {
      const items = await readReserved(
        (room) => store.call('findConversationItems', { ...query, ids: missing, room }),
        more,
        (result) => (result === 'too-long' ? 0 : wholeBytesOf(result.items)),
      );
      return items === 'too-long' ? items : decodeItems(owner, items, cipher);
    });
    if (!others) throw changingConversation();
    if (others === 'too-long') return others;
    for (const item of others) located.set(item.id, { item: asSent(item), bytes: JSON.stringify(item.item).length });
    return located;
  };
}

/** Undefined if a part was deleted meanwhile. */
async function locate(
  ids: readonly string[],
  { items, responses }: FoundItems,
  reader: ContentReader,
): Promise<Map<string, LocatedItem> | undefined> {
  const byRow = new Map(responses.map((response) => [response.row, response]));
  const contents = new Map<string, StoredContent>();
  const located = new Map<string, LocatedItem>();
  const named = new Map(items.map((item) => [item.id, item]));
  for (const id of ids) {
    const name = named.get(id);
    const [, row = '', index = ''] = UNNAMED_ITEM_ID.exec(id) ?? [];
    const response = byRow.get(name?.row ?? row);
    if (!response) continue;
    const { provider, credential } = response;
    if (!response.content && credential !== undefined) located.set(id, { provider, credential });
    if (!response.content) continue;
    const content = contents.get(response.row) ?? (await reader.read(response));
    if (!content) return undefined;
    contents.set(response.row, content);
    const item = name ? outputItem(content, name.position) : itemAt(content, Number.parseInt(index, 16));
    if (item !== undefined && !isReference(item)) located.set(id, { item, bytes: JSON.stringify(item).length });
  }
  return located;
}

function itemAt(content: StoredContent, index: number): Json {
  return content.input[index] ?? outputItem(content, index - content.input.length);
}

function outputItem(content: StoredContent, position: number): Json {
  const item = content.output[position];
  return item && asInput(item, content);
}
