/** Contents of stored responses with many small parts: other work comes between them while they are read. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { createCipher } from '../../src/security/cipher.ts';
import { createContentReader, encodeContent } from '../../src/stored-responses/content.ts';
import { decodeItems, encodeItems } from '../../src/stored-responses/conversation-content.ts';

const cipher = createCipher([Buffer.alloc(32, 1)]);
const OWNER = 'key-1';
const COUNT = 2000;
const items = Array.from({ length: COUNT }, (_, index) => ({ type: 'message', text: `${index}`.padEnd(5000, 'x') }));

/** Number of turns of the event loop that others have until a promise is resolved. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

test('a response', async () => {
  const place = { owner: OWNER, row: 'a' };
  const given = { origin: 'p', isRelayed: true, input: [], output: items, response: {} };
  const { parts, ...columns } = await encodeContent(given, cipher, place);
  assert.equal(parts.length, COUNT);
  const stored = {
    ...{ ...place, id: 'resp_a', status: 'completed' as const, background: false, createdAt: 1, expiresAt: 2 },
    ...{ model: 'p/m', provider: 'p', ...columns },
  };
  const turns = await turnsDuring(async () => {
    const content = await createContentReader(OWNER, parts, cipher).read(stored);
    assert.deepEqual(content?.output, items);
  });
  assert.ok(turns > 20, `${turns} turns`);
});

test('the items of a conversation', async () => {
  const given = items.map((item) => ({ item }));
  const encoded = await encodeItems(given, { cipher, clock: systemClock }, OWNER);
  const turns = await turnsDuring(async () => {
    const decoded = await decodeItems(OWNER, { items: encoded.items as never, parts: encoded.parts }, cipher);
    assert.deepEqual(decoded?.at(-1)?.item, items.at(-1));
  });
  assert.ok(turns > 20, `${turns} turns`);
});
