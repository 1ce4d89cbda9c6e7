/** Encryption of stored responses and conversations with the newest key, after it was changed. */

import type { Cipher } from '../security/cipher.ts';
import type { Store } from '../store/store.ts';
import { contentLocation, partLocation } from './content.ts';
import { itemLocation, metadataLocation } from './conversation-content.ts';
import { eventsLocation } from './event-log.ts';

/** A page holds some large contents at most. */
const PAGE_SIZE = 10;

/** Encrypts contents of earlier encryption keys with the current one; returns the number of changed contents and parts. */
export async function rekeyResponses(store: Pick<Store, 'call'>, cipher: Cipher): Promise<number> {
  let changed = 0;
  for (let after = ''; ; ) {
    const page = await store.call('scanStoredContents', { after, limit: PAGE_SIZE });
    for (const { row, content: from } of page) {
      if (cipher.isCurrentlySealed(from)) continue;
      const location = contentLocation(row);
      const to = cipher.seal(cipher.open(from, location), location);
      if (await store.call('replaceStoredContent', { row, from, to })) changed += 1;
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE_SIZE) break;
    after = last.row;
  }
  for (let after = { owner: '', digest: '' }; ; ) {
    const page = await store.call('scanStoredParts', { ...after, limit: PAGE_SIZE });
    for (const { owner, digest, content: from } of page) {
      if (cipher.isCurrentlySealed(from)) continue;
      const location = partLocation(owner, digest);
      const to = cipher.seal(cipher.open(from, location), location);
      if (await store.call('replaceStoredPart', { owner, digest, from, to })) changed += 1;
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE_SIZE) break;
    after = last;
  }
  for (let after = { row: '', first: 0 }; ; ) {
    const page = await store.call('scanStoredEvents', { ...after, limit: PAGE_SIZE });
    for (const { row, first, content: from } of page) {
      if (cipher.isCurrentlySealed(from)) continue;
      const location = eventsLocation(row, first);
      const to = cipher.seal(cipher.open(from, location), location);
      if (await store.call('replaceStoredEvents', { row, first, from, to })) changed += 1;
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE_SIZE) break;
    after = { row: last.row, first: last.first };
  }
  return changed + (await rekeyConversations(store, cipher));
}

const CONVERSATION_COLUMNS = [
  { scan: 'scanConversationMetadata', replace: 'replaceConversationMetadata', locationOf: metadataLocation },
  { scan: 'scanConversationItems', replace: 'replaceConversationItem', locationOf: itemLocation },
] as const;

async function rekeyConversations(store: Pick<Store, 'call'>, cipher: Cipher): Promise<number> {
  let changed = 0;
  for (const { scan, replace, locationOf } of CONVERSATION_COLUMNS) {
    for (let after = ''; ; ) {
      const page = await store.call(scan, { after, limit: PAGE_SIZE });
      for (const { id, content: from } of page) {
        if (cipher.isCurrentlySealed(from)) continue;
        const location = locationOf(id);
        const to = cipher.seal(cipher.open(from, location), location);
        if (await store.call(replace, { id, from, to })) changed += 1;
      }
      const last = page.at(-1);
      if (!last || page.length < PAGE_SIZE) break;
      after = last.id;
    }
  }
  return changed;
}
