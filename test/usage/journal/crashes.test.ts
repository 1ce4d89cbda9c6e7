/** Random sequences of requests, stores, restarts and crashes: the journal and the store together are equal to a model. */

import assert from 'node:assert/strict';
import { readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { HEADER_BYTES, RECORD_KINDS } from '../../../src/usage/journal/format.ts';
import { type StoredPosition, surveyJournal } from '../../../src/usage/journal/survey.ts';
import { breakableDisk } from './disks.ts';
import { append, close, ids, openJournal, SEGMENT_BYTES, temporaryFolder } from './journals.ts';

const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ act: fc.constant('request' as const), text: fc.nat({ max: 600 }) }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('begin' as const), text: fc.nat({ max: 200 }) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('withdraw' as const) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('store' as const) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('restart' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant('crash' as const),
      group: fc.integer({ min: 1, max: 8 }),
      cut: fc.nat({ max: 2000 }),
      damage: fc.constantFrom('none', 'truncate', 'flip', 'zero'),
      at: fc.nat({ max: 2000 }),
    }),
  },
);

test('what was durable is recovered exactly once after any crash', async (context) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const folder = temporaryFolder(context);
      let disk = breakableDisk();
      let opened = await openJournal(folder, { disk });
      let number = 0;
      /** The model: ends in their order, and open requests. */
      let ends: string[] = [];
      let open: string[] = [];
      /** The store: ends that it has, with a position. */
      let storedEnds: string[] = [];
      let stored: StoredPosition | undefined;

      const reopen = async (perhaps: { ends: string[]; begins: string[] }) => {
        disk = breakableDisk();
        opened = await openJournal(folder, { stored, disk });
        assert.deepEqual(opened.losses, []);
        const all = [...storedEnds, ...ids(opened.ends)];
        assert.deepEqual(all.slice(0, ends.length), ends);
        const more = all.slice(ends.length);
        assert.deepEqual(more, perhaps.ends.slice(0, more.length), 'a part of the group that was not durable');
        const found = [...opened.open.keys()];
        const rest = found.filter((id) => !open.includes(id));
        assert.deepEqual(
          found.filter((id) => open.includes(id)).toSorted(),
          open.filter((id) => !more.includes(id)).toSorted(),
        );
        assert.deepEqual(rest, perhaps.begins.slice(0, rest.length));
        ends = all;
        open = found;
      };

      for (const one of steps) {
        number += 1;
        const id = `r${number}`;
        const { journal } = opened;
        switch (one.act) {
          case 'request':
            await append(journal, RECORD_KINDS.begin, id);
            await append(journal, RECORD_KINDS.end, id, 'x'.repeat(one.text));
            ends.push(id);
            break;
          case 'begin':
            await append(journal, RECORD_KINDS.begin, id, 'x'.repeat(one.text));
            open.push(id);
            break;
          case 'withdraw': {
            const gone = open.shift();
            if (gone !== undefined) await append(journal, RECORD_KINDS.withdrawn, gone);
            break;
          }
          case 'store':
            storedEnds = [...ends];
            stored = { ...journal.position, oldest: stored?.oldest ?? 1 };
            break;
          case 'restart':
            await close(journal);
            await reopen({ ends: [], begins: [] });
            break;
          case 'crash': {
            const before = journal.position;
            disk.cut = one.cut;
            const begins = Array.from({ length: one.group }, (_, index) => `${id}-${index}`);
            const ending = open.slice(0, 2);
            for (const end of ending) void append(journal, RECORD_KINDS.end, end, 'y'.repeat(50));
            for (const begin of begins) void append(journal, RECORD_KINDS.begin, begin, 'z'.repeat(30));
            // The group is written as far as the cut, or its segment is still being made.
            await new Promise((resolve) => setTimeout(resolve, 3));
            await disk.die();
            const last = surveyJournal(folder, SEGMENT_BYTES).segments.at(-1);
            if (last && last.sequence === before.segment) {
              damageTail(join(folder, last.name), before.offset, one);
            }
            await reopen({ ends: ending, begins });
          }
        }
      }
      await close(opened.journal);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    }),
    { numRuns: 60 },
  );
});

/** Changes bytes after the durable ones, as a power cut amid a write leaves them. */
function damageTail(path: string, durable: number, { damage, at }: { damage: string; at: number }): void {
  const from = Math.max(HEADER_BYTES, durable) + at;
  const { size } = statSync(path);
  if (from >= size || damage === 'none') return;
  if (damage === 'truncate') {
    truncateSync(path, from);
    return;
  }
  const bytes = readFileSync(path);
  if (damage === 'zero') bytes.fill(0, from);
  else bytes[from] = (bytes[from] ?? 0) ^ 0x5a;
  writeFileSync(path, bytes);
}
