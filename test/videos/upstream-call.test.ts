/** Memory limits of responses. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UpstreamClient, UpstreamReceiver } from '../../src/transport/upstream-client.ts';
import { type RawOutcome, sendRaw } from '../../src/videos/upstream-call.ts';

const MEBIBYTE = 1024 * 1024;
const chunk = Buffer.alloc(16 * MEBIBYTE);
const request = { method: 'GET', url: 'http://upstream.example/', headers: {} } as const;

function open(): { receiver: UpstreamReceiver; outcome: Promise<RawOutcome>; stop: AbortController } {
  const receivers: UpstreamReceiver[] = [];
  const upstream: Pick<UpstreamClient, 'send'> = {
    send(_request, receiver) {
      receivers.push(receiver);
      return { pause() {}, resume() {}, abort() {} };
    },
  };
  const stop = new AbortController();
  const outcome = sendRaw(upstream, request, { signal: stop.signal });
  const [receiver] = receivers;
  assert.ok(receiver);
  receiver.sent?.();
  receiver.head(200, {});
  return { receiver, outcome, stop };
}

function send({ receiver }: { receiver: UpstreamReceiver }, mebibytes: number): void {
  for (let sent = 0; sent < mebibytes; sent += 16) receiver.data(chunk);
}

const bodyOf = async ({ outcome }: { outcome: Promise<RawOutcome> }) => {
  const { type, ...response } = await outcome;
  return type === 'response' && 'body' in response ? response.body : type;
};

test('a response above 200 MiB is discarded', async () => {
  const large = open();
  send(large, 208);
  assert.equal(await bodyOf(large), 'too-large');
});

test('large responses share a buffer of 256 MiB and release it; small ones are not limited', async () => {
  const [one, other] = [open(), open()];
  send(one, 160);
  send(other, 112);
  assert.equal(await bodyOf(other), 'too-large');
  const small = open();
  small.receiver.data(chunk.subarray(0, MEBIBYTE));
  small.receiver.end();
  assert.equal((await bodyOf(small)).length, MEBIBYTE);
  const gone = open();
  send(gone, 96);
  gone.stop.abort(new Error('stopped'));
  await assert.rejects(gone.outcome, /stopped/);
  const next = open();
  send(next, 96);
  next.receiver.end();
  assert.equal((await bodyOf(next)).length, 96 * MEBIBYTE);
  one.receiver.end();
  assert.equal((await bodyOf(one)).length, 160 * MEBIBYTE);
});
