/** The last look at a line of the log. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createLog, redactLine } from '../../src/telemetry/log.ts';

describe('secrets are redacted', () => {
  for (const secret of [
    'pk_live_0123456789abcdef',
    'rk_live_0123456789abcdef',
    'xai_0123456789abcdef',
    'whsec-0123456789abcdef',
    'Basic dXNlcjpwYXNzd29yZA==',
    'sk-pg-Zm9vYmFyYmF6cXV4MDEyMzQ1Njc4OQ',
    'sk-ant-api03-abcdef0123456789',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'gsk_0123456789abcdef',
    'xai-0123456789abcdef',
    'AIzaSyA0123456789abcdef',
    'Bearer 0123456789abcdef.~+/=',
  ]) {
    test(secret, () => {
      const line = redactLine(JSON.stringify({ problem: `refused: ${secret}, it said`, level: 40 }));
      assert.deepEqual(JSON.parse(line), { problem: 'refused: [redacted], it said', level: 40 });
    });
  }
});

describe('URLs keep only their host', () => {
  for (const [address, shown] of [
    ['https://hooks.example.com/a/b?token=1#c', 'https://hooks.example.com/…'],
    ['https://user:password@hooks.example.com:8443/a', 'https://hooks.example.com:8443/…'],
    ['http://[2001:db8::1]:80?x=1', 'http://[2001:db8::1]:80/…'],
    ['https://hooks.example.com', 'https://hooks.example.com'],
    ['https://user:password@hooks.example.com', 'https://hooks.example.com'],
  ] as const) {
    test(address, () => {
      const line = redactLine(JSON.stringify({ problem: `no answer from ${address} yet` }));
      assert.deepEqual(JSON.parse(line), { problem: `no answer from ${shown} yet` });
    });
  }
});

test('every log line is redacted', () => {
  const lines: string[] = [];
  const log = createLog({ write: (line) => void lines.push(line) });
  log.warn({ err: new Error('at https://a.example/x?sig=1 with sk-pg-0123456789') }, 'bad\nline');
  assert.equal(lines.length, 1);
  const [line = ''] = lines;
  assert.ok(!line.includes('sig=1') && !line.includes('0123456789') && line.trimEnd().split('\n').length === 1, line);
  assert.equal(JSON.parse(line).msg, 'bad\nline');
});
