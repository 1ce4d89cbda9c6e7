import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { upstreamProtocols } from '../../src/protocols/index.ts';
import { fidelity } from './fidelity/index.ts';

const path = join(import.meta.dirname, '../../docs/fidelity.md');

before(async () => {
  for (const { load } of upstreamProtocols) await load?.();
});

test('docs/fidelity.md matches the gateway; npm run golden writes it', () => {
  const text = fidelity();
  if (process.env.GOLDEN === 'update') writeFileSync(path, text);
  assert.equal(readFileSync(path, 'utf8'), text);
});
