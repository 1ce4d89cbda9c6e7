/** The configurations in `examples`: each is valid with its variables set, and listed. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bundledModels } from '../../src/catalog/bundled.ts';
import { type Machine, startWarnings } from '../../src/cli/start-warnings.ts';
import { parseConfig } from '../../src/config/load.ts';
import { providerTypes } from '../../src/providers/index.ts';

/** Without what the machine of the test has, such as a proxy. */
const MACHINE: Machine = { platform: 'linux', uid: 0, isContainer: false };

const folder = join(import.meta.dirname, '../../examples');
const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
const VALUES: Record<string, string> = {
  POLYGATE_DATABASE: 'postgres://localhost/polygate',
  POLYGATE_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
};

function load(file: string) {
  const text = readFileSync(join(folder, file), 'utf8');
  const names = [...text.matchAll(/\$\{([A-Z0-9_]+)\}/g)].map(([, name = '']) => name);
  const environment = Object.fromEntries(
    names.map((name) => [name, VALUES[name] ?? `value-of-${name}-0123456789abcdef`]),
  );
  return parseConfig(text, { environment, known: providerTypes });
}

for (const file of files) {
  test(file, () => {
    const config = load(file);
    const named = [...config.routing.models.values()].flat().map(({ provider, model }) => `${provider}/${model}`);
    for (const id of [...named, ...config.routing.aliases.values()]) {
      const vendor = id.slice(0, id.indexOf('/'));
      assert.ok(
        bundledModels(vendor).some((model) => model.id === id),
        `the catalog has no ${id}`,
      );
    }
    for (const warning of startWarnings(config, MACHINE)) assert.match(warning, /root/, 'a warning at start');
  });
}

test('the list names every file', () => {
  const list = readFileSync(join(folder, 'README.md'), 'utf8');
  const listed = [...list.matchAll(/\]\(([\w-]+\.yaml)\)/g)].map(([, name]) => name);
  assert.deepEqual(listed.toSorted(), files.toSorted());
});
