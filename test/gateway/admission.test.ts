/** Admission by the head of a request, before its body is read. */

import assert from 'node:assert/strict';
import { request as openRequest } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { HEADERS, PATHS, type ProtocolId, startTestGateway, type TestGateway } from './harness.ts';

let gateway: TestGateway;

before(async () => {
  gateway = await startTestGateway();
});

after(() => gateway.close());

/** The status that a request gets which announces a body and sends none of it. */
function statusWithoutBody(path: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const announced = { 'content-type': 'application/json', 'content-length': '1000000', ...headers };
    const request = openRequest(gateway.url, { method: 'POST', path, headers: announced }, (response) => {
      resolve(response.statusCode ?? 0);
      request.destroy();
    });
    request.on('error', reject);
    request.flushHeaders();
  });
}

describe('no body is waited for', () => {
  for (const protocol of Object.keys(PATHS) as ProtocolId[]) {
    const path = PATHS[protocol]('sandbox/echo', false);

    test(`without a key: ${protocol}`, async () => assert.equal(await statusWithoutBody(path, {}), 401));

    test(`with a wrong key: ${protocol}`, async () => {
      const wrong = Object.fromEntries(Object.keys(HEADERS[protocol]).map((name) => [name, 'Bearer sk-wrong']));
      assert.equal(await statusWithoutBody(path, wrong), 401);
    });
  }

  test('where nothing is', async () => assert.equal(await statusWithoutBody('/v1/nothing', HEADERS.chat), 404));

  test('in a version that is not known', async () => {
    const headers = { ...HEADERS.messages, 'anthropic-version': '1999-01-01' };
    assert.equal(await statusWithoutBody(PATHS.messages(), headers), 400);
  });

  test('that is announced as too large', async () => {
    const headers = { ...HEADERS.chat, 'content-length': String(1024 ** 3) };
    assert.equal(await statusWithoutBody(PATHS.chat(), headers), 413);
  });
});
