/** Check of a received webhook: each thing that goes wrong at receivers is named. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { signatureHeaders } from '../../src/webhooks/signature.ts';
import { checkSignature, type ReceivedWebhook } from '../../src/webhooks/signature-check.ts';
import { verifyWebhook } from '../../src/webhooks/verify.ts';
import { anyText } from '../any-text.ts';

const SECRET = 'whsec_c2VjcmV0IG9mIGEgdGVzdCB3aXRoIDMyIGJ5dGVzIQ==';
const OTHER = 'whsec_YW5vdGhlciBzZWNyZXQgb2YgdGhpcyB0ZXN0IGZpbGU=';
const BODY = '{"event":"video.generation.failed","id":"a","data":{"prompt":"ü"}}';
const NOW = 1_800_000_000_000;

const headersOf = (body = BODY, secret = SECRET, sentAt = NOW): Record<string, string> =>
  signatureHeaders({ id: 'a-failed', body: Buffer.from(body), sentAt }, { current: secret }, true);
const lower = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
const SENT = lower(headersOf());
const received = (changed: Partial<ReceivedWebhook> = {}): ReceivedWebhook => ({
  ...{ body: BODY, headers: SENT, secrets: [SECRET], now: NOW },
  ...changed,
});
const withHeader = (name: string, change: (value: string) => string) => ({
  headers: { ...SENT, [name]: change(SENT[name] ?? '') },
});

test('what was sent is valid, in both forms, in headers of any spelling', async () => {
  for (const headers of [SENT, headersOf(), new Headers(headersOf())]) {
    const { service, standard } = await checkSignature(received({ headers }));
    assert.deepEqual([service.state, standard.state], ['valid', 'valid']);
  }
});

test('the second of several secrets is valid, and said', async () => {
  const { service, standard } = await checkSignature(received({ secrets: [OTHER, SECRET] }));
  for (const verdict of [service, standard]) {
    assert.equal(verdict.state, 'valid');
    assert.match(verdict.message, /by secret 2/);
  }
});

describe('what is wrong is named:', () => {
  const cases: [string, Partial<ReceivedWebhook>, 'service' | 'standard', string, RegExp][] = [
    ['the header is missing', { headers: {} }, 'service', 'header', /x-service-signature is missing/],
    ['one of three headers is missing', { headers: { 'webhook-id': 'a' } }, 'standard', 'header', /webhook-timestamp/],
    ['padding', withHeader('x-service-signature', (one) => `${one}=`), 'service', 'header', /padded/],
    [
      'hexadecimal',
      withHeader('x-service-signature', (one) => Buffer.from(one, 'base64url').toString('hex')),
      'service',
      'header',
      /hexadecimal/,
    ],
    [
      'no padding',
      withHeader('webhook-signature', (one) => one.replace('=', '')),
      'standard',
      'header',
      /with padding/,
    ],
    ['another secret', { secrets: [OTHER] }, 'service', 'secret', /another key or of before/],
    [
      'another secret, by the body that was sent',
      { secrets: [OTHER], sentBody: BODY },
      'service',
      'secret',
      /body is the one/,
    ],
    ['spaces around the secret', { secrets: [` ${SECRET}\n`] }, 'service', 'secret', /spaces or quotes/],
    ['a secret without its prefix', { secrets: [SECRET.slice(6)] }, 'service', 'secret', /lacks whsec_/],
    ['a line end after the body', { body: `${BODY}\n` }, 'service', 'body', /added around/],
    [
      'a body that was written again',
      { body: JSON.stringify(JSON.parse(BODY), null, 2) },
      'standard',
      'body',
      /written again/,
    ],
    [
      'an altered body',
      { body: BODY.replace('failed', 'passed'), sentBody: BODY },
      'service',
      'body',
      /at character 28/,
    ],
    [
      'a body of another length',
      { body: BODY.slice(1), headers: { ...SENT, 'content-length': '67' } },
      'service',
      'body',
      /66 bytes, and content-length says 67/,
    ],
    ['an old timestamp', { now: NOW + 301_000 }, 'standard', 'timestamp', /301 s old/],
    ['a timestamp to come', { now: NOW - 400_000 }, 'standard', 'timestamp', /400 s in the future/],
  ];
  for (const [name, changed, header, part, message] of cases) {
    test(name, async () => {
      const { [header]: verdict } = await checkSignature(received(changed));
      assert.notEqual(verdict.state, 'valid');
      assert.equal(verdict.part, part, verdict.message);
      assert.match(verdict.message, message);
    });
  }

  test('a secret that was decoded, or was not', async () => {
    const text = Buffer.from(SECRET.slice(6), 'base64').toString();
    const asText = lower(headersOf(BODY, text));
    const service = await checkSignature(
      received({ headers: { 'x-service-signature': asText['x-service-signature'] } }),
    );
    assert.match(service.service.message, /decoded before/);
  });
});

test('it judges as the module of receivers does', async () => {
  const text = anyText(200);
  const property = fc.asyncProperty(text, text, fc.boolean(), async (content, secretText, isAltered) => {
    const body = JSON.stringify({ content });
    const secret = secretText === '' ? 'x' : secretText;
    const headers = headersOf(body, secret);
    const arrived = isAltered ? `${body} ` : body;
    let isVerified = true;
    try {
      verifyWebhook(arrived, headers, secret);
    } catch {
      isVerified = false;
    }
    const { service } = await checkSignature({ body: arrived, headers, secrets: [secret], now: NOW });
    assert.equal(service.state === 'valid', isVerified);
    assert.equal(isVerified, !isAltered);
  });
  await fc.assert(property, { numRuns: 100 });
});
