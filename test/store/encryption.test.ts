/** Encryption key of a store: concurrent gateways agree on one. */

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { openSecrets } from '../../src/gateway/encryption.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { forEachStore } from './stores.ts';

const [ONE, OTHER] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'));
const FOREIGN = {
  code: 'invalid_request',
  message: /encrypted with another key; give every gateway the same encryption\.key/,
};

/** A gateway's configuration with a data folder of its own. */
function gateway(context: TestContext, yaml = '') {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-'));
  context.after(() => rmSync(folder, { recursive: true }));
  return parseConfig(`data: ${folder}\n${yaml}`, { environment: {}, known: providerTypes });
}

const keyed = (context: TestContext, key = '', previous = '') =>
  gateway(context, `encryption: { key: "${key}", previous_keys: [${previous && `"${previous}"`}] }\n`);

forEachStore((name, open) => {
  test(`of gateways that each make a key at the same moment, one goes on (${name})`, async (context) => {
    const store = await open(context);
    const configs = Array.from({ length: 5 }, () => gateway(context));
    const settled = await Promise.allSettled(configs.map((config) => openSecrets({ config, store })));
    assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const one of settled)
      if (one.status === 'rejected') assert.match(one.reason.message, /encrypted with (another key|it)/);
    const winner = configs[settled.findIndex(({ status }) => status === 'fulfilled')];
    assert.ok(winner && (await openSecrets({ config: winner, store })));
    const late = gateway(context);
    await assert.rejects(openSecrets({ config: late, store }), /encryption\.key is missing/);
    assert.ok(!existsSync(join(late.data, 'encryption.key')), 'no key is made that cannot be used');
  });

  test(`another key is refused until the store is encrypted anew with it (${name})`, async (context) => {
    const store = await open(context);
    const first = await openSecrets({ config: keyed(context, ONE), store });
    await first.webhooks.create('key-1');
    await assert.rejects(openSecrets({ config: keyed(context, OTHER), store }), FOREIGN);
    const both = await openSecrets({ config: keyed(context, OTHER, ONE), store });
    assert.equal(await both.webhooks.rekey({ actor: 'command line' }), 1);
    assert.ok(await openSecrets({ config: keyed(context, OTHER), store }));
    await assert.rejects(openSecrets({ config: keyed(context, ONE), store }), FOREIGN);
  });
});
