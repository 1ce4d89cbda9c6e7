/** The model that fails on request does so in the way it was asked to. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json/json.ts';
import { createSandboxClock } from '../../src/providers/sandbox/clock.ts';
import { createSandboxUpstream } from '../../src/providers/sandbox/upstream.ts';
import { call, chunksIn, createClock, user } from './sandbox-call.ts';

const streamed = { stream: true };

describe('faulty', () => {
  for (const status of [400, 401, 418, 429, 500, 503, 529, 599]) {
    test(`answers with status ${status}`, async () => {
      const reply = await call(user('faulty', `Please: status ${status}!`, streamed));
      const { error } = JSON.parse(reply.bytes.toString());
      assert.equal(reply.status, status);
      assert.equal(reply.headers['content-type'], 'application/json');
      assert.equal(reply.headers['retry-after'], status === 429 || status === 503 ? '1' : undefined);
      assert.deepEqual(Object.keys(error), ['message', 'type', 'code', 'param']);
    });
  }

  test('breaks off, ends early or reports an error after so many chunks', async () => {
    const cut = await call(user('faulty', 'cut after 3', streamed));
    assert.equal(chunksIn(cut.bytes).length, 3);
    assert.ok(cut.broken instanceof GatewayError && cut.broken.code === 'upstream_error');

    const end = await call(user('faulty', 'end after 2', streamed));
    assert.equal(chunksIn(end.bytes).length, 2);
    assert.equal(end.broken, undefined);
    assert.doesNotMatch(end.bytes.toString(), /DONE/);

    const error = chunksIn((await call(user('faulty', 'error in stream after 2', streamed))).bytes);
    assert.equal(error.length, 3);
    assert.deepEqual([error[2].error.type, error[2].choices], ['server_error', undefined]);
  });

  test('never finishes a stream it was to break, however late', async () => {
    for (const word of ['cut', 'end', 'error in stream']) {
      const { bytes } = await call(user('faulty', `${word} after 1000`, streamed));
      assert.doesNotMatch(bytes.toString(), /DONE/);
    }
  });

  test('breaks whole responses too', async () => {
    const cut = await call(user('faulty', 'cut after 1'));
    assert.throws(() => JSON.parse(cut.bytes.toString()), SyntaxError);
    assert.ok(cut.bytes.length > 0 && cut.broken);
    const error = await call(user('faulty', 'error in stream after 1'));
    assert.equal(JSON.parse(error.bytes.toString()).error.type, 'server_error');
  });

  test('returns invalid bodies with status 200', async () => {
    const garbage = await call(user('faulty', 'garbage'));
    assert.deepEqual([garbage.status, garbage.headers['content-type']], [200, 'text/html']);
    assert.match(garbage.bytes.toString(), /^<!doctype html>/);
    const empty = await call(user('faulty', 'empty'));
    assert.deepEqual([empty.status, empty.bytes.length], [200, 0]);
    for (const more of [{}, streamed]) {
      const { status, bytes } = await call(user('faulty', 'error in 200', more));
      const body: Json = 'stream' in more ? chunksIn(bytes)[0] : JSON.parse(bytes.toString());
      assert.deepEqual([status, body.error.type], [200, 'server_error']);
    }
  });

  test('waits before the first byte and between chunks', async () => {
    const clock = createClock();
    const { bytes } = await call(user('faulty', 'slow 2s, pause 1.5s, end after 4', streamed), clock);
    assert.equal(chunksIn(bytes).length, 4);
    assert.deepEqual(clock.waits, [2000, 1500, 1500, 1500]);
    await call(user('faulty', 'slow 20ms and status 500'), clock);
    assert.equal(clock.waits.at(-1), 20);
    await call(user('faulty', 'slow 99999999999s'), clock);
    assert.equal(clock.waits.at(-1), 600_000);
  });

  test('hangs until the request is aborted', async () => {
    const gone = new Error('gone');
    for (const text of ['hang', 'hang after 2']) {
      const client = new AbortController();
      setImmediate(() => client.abort(gone));
      const reply = await call(user('faulty', text, streamed), createClock(), client.signal).catch((error) => ({
        broken: error,
      }));
      assert.equal(reply.broken, gone);
    }
  });

  test('answers with help otherwise', async () => {
    const { bytes } = await call(user('faulty', 'Hello?'));
    assert.match(JSON.parse(bytes.toString()).choices[0].message.content, /^I fail on request/);
  });
});

describe('an abort', () => {
  const body = Buffer.from(JSON.stringify(user('echo', 'word '.repeat(1000), streamed)));

  test('ends a stream at once', async () => {
    const client = new AbortController();
    const local = createSandboxUpstream(createSandboxClock());
    const response = await local({
      method: 'POST',
      path: '/chat/completions',
      body,
      signal: client.signal,
    });
    let received = 0;
    await assert.rejects(async () => {
      for await (const _ of response.body) if (++received === 3) client.abort();
    }, /abort/i);
    assert.equal(received, 3);
  });

  test('before the start means no answer', async () => {
    await assert.rejects(
      createSandboxUpstream(createSandboxClock())({
        path: '/chat/completions',
        method: 'POST',
        body,
        signal: AbortSignal.abort(new Error('gone')),
      }),
      /gone/,
    );
  });
});

test('another path does not exist', async () => {
  const signal = new AbortController().signal;
  const { status } = await createSandboxUpstream(createSandboxClock())({
    path: '/v1/embeddings',
    method: 'POST',
    body: Buffer.from('{}'),
    signal,
  });
  assert.equal(status, 404);
});
