/** Stored responses after a change of the encryption key. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { createCipher } from '../../src/security/cipher.ts';
import { createContentReader, encodeContent } from '../../src/stored-responses/content.ts';
import {
  decodeItems,
  encodeConversation,
  encodeItems,
  encodeMetadata,
} from '../../src/stored-responses/conversation-content.ts';
import { rekeyResponses } from '../../src/stored-responses/rekey.ts';
import { allOf, forEachStore } from './stores.ts';

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const AT = 1_800_000_000_000;

forEachStore((engine, openStore) => {
  test(`contents and parts are encrypted again, and the old key can go (${engine})`, async (context) => {
    const store = await openStore(context);
    const rows = Array.from({ length: 23 }, (_, index) => index.toString(16).padStart(32, '0'));
    const old = createCipher([OLD]);
    const given = (row: string) => ({
      ...{ origin: 'p', isRelayed: true, response: { id: row, tools: ['shared '.repeat(2000)] } },
      input: [{ role: 'user', content: row.repeat(300) }],
      output: [],
    });
    for (const row of rows) {
      const { parts, ...columns } = await encodeContent(given(row), old, { owner: 'key-1', row });
      await store.call('putStoredResponse', {
        response: {
          ...{ row, owner: 'key-1', id: row, status: 'completed', background: false, createdAt: AT, expiresAt: AT + 1 },
          ...{ model: 'p/m', provider: 'p', ...columns },
        },
        ...{ names: [{ kind: 'response', name: row, position: 0 }], parts, limits: { responses: 100, bytes: 2 ** 30 } },
      });
    }
    // One part is shared.
    assert.equal(await rekeyResponses(store, createCipher([NEW, OLD])), 23 + 23 + 1);
    assert.equal(await rekeyResponses(store, createCipher([NEW, OLD])), 0);
    for (const row of rows) {
      const found = allOf(await store.call('readStoredResponse', { owner: 'key-1', id: row, now: AT }));
      assert.ok(found);
      const content = await createContentReader('key-1', found.parts, createCipher([NEW])).read(found.response);
      assert.deepEqual(content, given(row));
    }
    const [first] = rows;
    const found = allOf(await store.call('readStoredResponse', { owner: 'key-1', id: first ?? '', now: AT }));
    assert.ok(found);
    await assert.rejects(createContentReader('key-1', found.parts, old).read(found.response), { code: 'unavailable' });
    // A content that was moved to another row is not read.
    const moved = { ...found.response, row: rows[1] ?? '' };
    const reader = createContentReader('key-1', found.parts, createCipher([NEW]));
    await assert.rejects(reader.read(moved), /changed or moved/);
  });

  test(`conversations are encrypted again, and the old key can go (${engine})`, async (context) => {
    const store = await openStore(context);
    const [old, next] = [createCipher([OLD]), createCipher([NEW])];
    const ids = Array.from({ length: 12 }, (_, index) => `conv_${index}`);
    const given = (id: string) => [id, id.repeat(1000)].map((content) => ({ item: { role: 'user', content } }));
    for (const id of ids) {
      const times = { createdAt: AT, changedAt: AT, expiresAt: AT + 1 };
      const metadata = encodeMetadata({ of: id }, old, id);
      await store.call('putConversation', {
        conversation: { id, owner: 'key-1', ...times, metadata },
        limits: { responses: 100, bytes: 2 ** 30 },
        ...(await encodeItems(given(id), { cipher: old, clock: systemClock }, 'key-1')),
      });
    }
    // Metadata, two items and one part of each.
    assert.equal(await rekeyResponses(store, createCipher([NEW, OLD])), 12 * 4);
    assert.equal(await rekeyResponses(store, createCipher([NEW, OLD])), 0);
    for (const id of ids) {
      const named = { owner: 'key-1', id, now: AT };
      const found = allOf(await store.call('readWholeConversation', { ...named, maxItems: 9, maxBytes: 2 ** 20 }));
      assert.ok(found && found !== 'too-long');
      assert.deepEqual(encodeConversation(found.conversation, next).metadata, { of: id });
      const items = await decodeItems('key-1', found, next);
      assert.deepEqual(
        items?.map(({ item }) => ({ item })),
        given(id),
      );
      await assert.rejects(decodeItems('key-1', found, old), { code: 'unavailable' });
    }
  });
});
