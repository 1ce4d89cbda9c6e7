/** Encryption of stored responses and conversations with the newest key, after it was changed. */

import type { Cipher, CiphertextLocation } from '../security/cipher.ts';
import type { Store } from '../store/store.ts';
import { contentLocation, partLocation } from './content.ts';
import { itemLocation, metadataLocation } from './conversation-content.ts';
import { eventsLocation } from './event-log.ts';

/** Maximum rows of a page, some of which may be large. */
const PAGE_SIZE = 10;

/** Encrypted contents of one kind, in the order of what identifies them. */
interface SealedContents<Id> {
  /** Comes before all others. */
  first: Id;
  /** A page of them, up to `PAGE_SIZE`, behind one. */
  scan(after: Id): Promise<(Id & { content: Uint8Array })[]>;
  locationOf(id: Id): CiphertextLocation;
  /** False if the content was changed or deleted meanwhile. */
  replace(id: Id, change: { from: Uint8Array; to: Uint8Array }): Promise<boolean>;
}

/** Encrypts contents of earlier encryption keys with the current one; returns the number of changed contents and parts. */
export async function rekeyResponses({ call }: Pick<Store, 'call'>, cipher: Cipher): Promise<number> {
  const contents = await rekey(cipher, {
    first: { row: '' },
    scan: ({ row }) => call('scanStoredContents', { after: row, limit: PAGE_SIZE }),
    locationOf: ({ row }) => contentLocation(row),
    replace: ({ row }, change) => call('replaceStoredContent', { row, ...change }),
  });
  const parts = await rekey(cipher, {
    first: { owner: '', digest: '' },
    scan: ({ owner, digest }) => call('scanStoredParts', { owner, digest, limit: PAGE_SIZE }),
    locationOf: ({ owner, digest }) => partLocation(owner, digest),
    replace: ({ owner, digest }, change) => call('replaceStoredPart', { owner, digest, ...change }),
  });
  const events = await rekey(cipher, {
    first: { row: '', first: 0 },
    scan: ({ row, first }) => call('scanStoredEvents', { row, first, limit: PAGE_SIZE }),
    locationOf: ({ row, first }) => eventsLocation(row, first),
    replace: ({ row, first }, change) => call('replaceStoredEvents', { row, first, ...change }),
  });
  const metadata = await rekey(cipher, {
    first: { id: '' },
    scan: ({ id }) => call('scanConversationMetadata', { after: id, limit: PAGE_SIZE }),
    locationOf: ({ id }) => metadataLocation(id),
    replace: ({ id }, change) => call('replaceConversationMetadata', { id, ...change }),
  });
  const items = await rekey(cipher, {
    first: { id: '' },
    scan: ({ id }) => call('scanConversationItems', { after: id, limit: PAGE_SIZE }),
    locationOf: ({ id }) => itemLocation(id),
    replace: ({ id }, change) => call('replaceConversationItem', { id, ...change }),
  });
  return contents + parts + events + metadata + items;
}

async function rekey<Id>(cipher: Cipher, { first, scan, locationOf, replace }: SealedContents<Id>): Promise<number> {
  let changed = 0;
  for (let after: Id | undefined = first; after !== undefined; ) {
    const page: (Id & { content: Uint8Array })[] = await scan(after);
    for (const row of page) {
      const from = row.content;
      if (cipher.isCurrentlySealed(from)) continue;
      const location = locationOf(row);
      if (await replace(row, { from, to: cipher.seal(cipher.open(from, location), location) })) changed += 1;
    }
    after = page.length < PAGE_SIZE ? undefined : page.at(-1);
  }
  return changed;
}
