/** Heads of requests to upstreams: headers that would change how they are framed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FRAMING_HEADERS } from '../../src/core/platform.ts';
import { requestHead } from '../../src/transport/http1/head.ts';

const headOf = (headers: Record<string, string>) =>
  requestHead({ method: 'POST', path: '/', host: 'x', isLast: false }, headers, 3);

test('a request has the framing of its connection alone', () => {
  const own = headOf({});
  assert.match(own, /\r\nconnection: keep-alive\r\ncontent-length: 3\r\n/);
  assert.equal(headOf({ 'Content-Length': '5' }), own);
  for (const name of [...FRAMING_HEADERS].filter((one) => one !== 'content-length')) {
    for (const written of [name, name.toUpperCase()])
      assert.throws(() => headOf({ [written]: 'close' }), /cannot be sent/, written);
  }
});
