/** Questions of pages that nobody waits for any more: the gateway sees them closed. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, request as forward, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { openBrowser, signInAsAdmin, startGatewayForOperators } from './browser.ts';

/** In the path of what is not answered. */
const SLOW = 'model=slow';

let browser: Browser;
let gateway: TestGateway;
/** Before the gateway. */
let front: Server;
let slow: { asked: PromiseWithResolvers<void>; closed: PromiseWithResolvers<void> };

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
  front = createServer((request, response) => {
    const { method, url = '/', headers } = request;
    if (url.startsWith('/admin/v1/requests?') && url.includes(SLOW)) {
      response.on('close', () => slow.closed.resolve());
      slow.asked.resolve();
      return;
    }
    if (url === '/v1/chat/completions') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Once' } }] })}\n\n`);
      response.on('close', () => slow.closed.resolve());
      return;
    }
    const asked = forward(gateway.url + url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    asked.on('error', () => response.destroy());
    request.pipe(asked);
  });
  await new Promise<void>((listening) => front.listen(0, '127.0.0.1', listening));
});
after(() => {
  front.closeAllConnections();
  front.close();
  return Promise.all([browser.close(), gateway.close()]);
});

for (const [change, link] of [
  ['the filter changes', 'Requests'],
  ['another page opens', 'Keys'],
] as const) {
  test(`a slow answer is aborted when ${change}`, async () => {
    slow = { asked: Promise.withResolvers(), closed: Promise.withResolvers() };
    const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
    const { page } = await signInAsAdmin(browser, { url }, `/ui/requests?${SLOW}`);
    await slow.asked.promise;
    await page.getByRole('navigation').getByRole('link', { name: link, exact: true }).click();
    await page.waitForURL(new RegExp(`/ui/${link.toLowerCase()}$`));
    // Before the page is closed, which would close it too.
    await slow.closed.promise;
    if (link === 'Requests')
      await page
        .getByRole('row', { name: /sandbox.echo/ })
        .first()
        .waitFor();
    await page.close();
  });
}

test('an answer of the playground is aborted when another page opens', async () => {
  slow = { asked: Promise.withResolvers(), closed: Promise.withResolvers() };
  const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  const { page } = await signInAsAdmin(browser, { url }, '/ui/playground');
  await page.getByLabel('User', { exact: true }).fill('Tell me a story');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('main').getByText('Once').waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'Keys', exact: true }).click();
  await slow.closed.promise;
  await page.close();
});

test('every question of a page takes the signal that aborts it', () => {
  const folder = join(import.meta.dirname, '../src');
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!/\.tsx?$/.test(name)) continue;
    for (const [, start = ''] of readFileSync(join(folder, name), 'utf8').matchAll(/queryFn: ?((?:.|\n){0,80})/g)) {
      assert.ok(/signal/.test(start) || start.includes('import('), `${name}: ${start}`);
    }
  }
});
