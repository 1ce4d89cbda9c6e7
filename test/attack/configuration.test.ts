/** A configuration file that is being written while clients use the gateway, and webhooks that are sent again without end. */

import assert from 'node:assert/strict';
import { appendFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { program } from '../cli/program.ts';
import { startTestGateway } from '../gateway/harness.ts';
import { videoClient } from '../gateway/video-client.ts';
import { startReceiver } from '../webhooks/receiver.ts';
import { attack } from './attack.ts';

const KEY = 'a-key-of-the-file-0123456789';
const CA = join(import.meta.dirname, '../net/fixtures/test-only-ca.pem');

attack(
  'configuration',
  {
    by: 'stranger',
    attempt: 'a tool empties the configuration file again and again before it writes it, with SIGHUP between',
    bound: 'no request of a key of the file is refused, and the last content counts',
  },
  async (context) => {
    const { folder, start } = program(context);
    const file = join(folder, 'polygate.yaml');
    const text = (also: string) => `keys: [{ name: ci, key: ${KEY} }${also}]\nserver: { port: 0 }\n`;
    writeFileSync(file, text(''));
    const gateway = start(['serve']);
    const [, url = ''] = await gateway.shows(/listens on (\S+)/);
    await gateway.shows(/Ctrl-C stops it/);
    const statusOf = async (key: string) =>
      (await fetch(`${url}/v1/key`, { headers: { authorization: `Bearer ${key}` } })).status;

    const statuses = new Set<number>();
    let requests = 0;
    const empty = async () => {
      // Shorter and longer than the file has to stay the same.
      for (const pause of [5, 50, 400, 20, 700]) {
        truncateSync(file);
        if (process.platform !== 'win32') gateway.signal('SIGHUP');
        await wait(pause);
        appendFileSync(file, text(''));
        await wait(60);
      }
    };
    const writing = async () => {
      // A busy machine answers few requests meanwhile.
      do await empty();
      while (requests <= 50);
      writeFileSync(file, text(`, { name: next, key: ${KEY}-next }`));
    };
    const done = writing().then(() => wait(100));
    for (let over = false; !over; ) {
      over = await Promise.race([done.then(() => true), wait(5, false)]);
      statuses.add(await statusOf(KEY));
      requests++;
    }
    assert.deepEqual([...statuses], [200]);
    assert.ok(requests > 50);
    await gateway.shows(/polygate\.yaml is empty/, 'stderr');
    const giveUp = AbortSignal.timeout(10_000);
    while ((await statusOf(`${KEY}-next`)) !== 200) giveUp.throwIfAborted();
    return `0 of ${requests} refused`;
  },
);

attack(
  'configuration',
  {
    by: 'key holder',
    attempt: 'webhooks are sent again and again at a receiver of somebody else',
    bound: 'ten times a webhook and 30 requests at once, then 429 with Retry-After',
  },
  async (context) => {
    const receiver = await startReceiver();
    const gateway = await startTestGateway(
      `callbacks: { secret: a-secret-of-the-gateway, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }`,
    );
    context.after(async () => {
      await gateway.close();
      await receiver.close();
    });
    const client = videoClient(gateway);
    const { id } = await client.create({ prompt: 'fail', callback_url: `https://127.0.0.1:${receiver.port}/hook` });
    await client.until(id, 'failed');
    const giveUp = AbortSignal.timeout(20_000);
    while (receiver.received.length === 0) {
      giveUp.throwIfAborted();
      await wait(20);
    }
    const counts: Record<number, number> = {};
    for (let request = 0; request < 60; request++) {
      const { status, headers, body } = await client.send('POST', `/v1/videos/${id}/deliveries/replay`);
      counts[status] = (counts[status] ?? 0) + 1;
      if (status === 429) {
        assert.equal(body.error.code, 'rate_limit_exceeded');
        assert.ok(Number(headers.get('retry-after')) > 0);
      }
      await wait(20);
    }
    const { 202: accepted = 0, 409: busy = 0, 429: refused = 0 } = counts;
    assert.equal(accepted + busy + refused, 60, JSON.stringify(counts));
    assert.ok(accepted > 0 && accepted <= 10, JSON.stringify(counts));
    assert.ok(refused > 0, JSON.stringify(counts));
    assert.ok(receiver.received.length <= 11);
    return `${accepted} of 60 sent`;
  },
);
