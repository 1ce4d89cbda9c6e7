/** Chain of a stored response: its content and that of all responses that it continues. */

import { isStorableId } from '../core/answer-id.ts';
import type { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import { asInput, isReference } from '../protocols/responses/stored.ts';
import type { StoredResponse } from '../records/stored-response.ts';
import { createContentReader, type StoredContent } from './content.ts';
import { limitsOf, readReserved, readWhole, type StoredContext, wholeBytesOf } from './context.ts';
import { createItemSearch, type LocatedItem, type Reader } from './items.ts';

export interface ChainLink {
  stored: StoredResponse;
  content: StoredContent;
}

export interface Chain {
  newest: StoredResponse;
  /** Oldest first; absent if the provider of the newest keeps it. */
  links?: ChainLink[];
  /** Response that the links continue, if its provider keeps it. */
  root?: StoredResponse;
}

export interface ChainErrors {
  unknown: GatewayError;
  tooLong: GatewayError;
}

/** Throws one of the errors. */
export async function readChain(
  context: StoredContext,
  { owner, reserve }: Reader,
  asked: { id: string; errors: ChainErrors },
): Promise<Chain> {
  const chain = await readWhole(reserve, (more) => readLinks(context, { owner, reserve: more }, asked));
  if (!chain) throw asked.errors.unknown;
  return chain;
}

/** Undefined if a part was deleted meanwhile. */
async function readLinks(
  context: StoredContext,
  { owner, reserve }: Reader,
  { id, errors }: { id: string; errors: ChainErrors },
): Promise<Chain | undefined> {
  const { store, cipher, clock } = context;
  if (!isStorableId(id)) throw errors.unknown;
  const query = { owner, id, now: clock.now(), ...limitsOf(context) };
  const found = await readReserved(
    (room) => store.call('readStoredChain', { ...query, room }),
    reserve,
    (chain) => (typeof chain === 'string' ? 0 : wholeBytesOf(chain.responses)),
  );
  if (found === 'too-long') throw errors.tooLong;
  const newest = found === 'unknown' ? undefined : found.responses[0];
  if (found === 'unknown' || !newest) throw errors.unknown;
  if (!newest.content) return { newest };
  const reader = createContentReader(owner, found.parts, cipher);
  const links: ChainLink[] = [];
  let root: StoredResponse | undefined;
  for (const stored of found.responses.toReversed()) {
    if (!stored.content && links.length === 0) {
      root = stored;
      continue;
    }
    const content = await reader.read(stored);
    if (!content) return undefined;
    links.push({ stored, content });
  }
  return { newest, links, ...(root && { root }) };
}

/** Finds the items to which the inputs of a chain refer. Throws if one of them is gone. */
export async function findReferred(
  context: StoredContext,
  reader: Reader,
  { links, errors }: { links: readonly ChainLink[]; errors: ChainErrors },
): Promise<(item: Json) => Json> {
  const references = links.flatMap(({ content }) => content.input.filter(isReference));
  if (references.length === 0) return (item) => item;
  const found = await createItemSearch(context, reader)(references.map(({ id }) => String(id)));
  if (found === 'too-long') throw errors.tooLong;
  const { maxBytes } = limitsOf(context);
  let bytes = 0;
  for (const { id } of references) {
    const located: LocatedItem | undefined = found.get(String(id));
    if (!located || !('item' in located)) throw errors.unknown;
    bytes += located.bytes;
    // An item may be referred to many times.
    if (bytes > maxBytes) throw errors.tooLong;
  }
  return (item) => {
    const located = isReference(item) ? found.get(String(item.id)) : undefined;
    return located && 'item' in located ? located.item : item;
  };
}

/** All items of a chain as input of the request that continues it. */
export async function joinedInput(
  context: StoredContext,
  reader: Reader,
  chain: { links: readonly ChainLink[]; errors: ChainErrors },
): Promise<Json[]> {
  const resolved = await findReferred(context, reader, chain);
  return chain.links.flatMap(({ content }) => [
    ...content.input.map(resolved),
    ...content.output.map((item) => asInput(item, content)),
  ]);
}
