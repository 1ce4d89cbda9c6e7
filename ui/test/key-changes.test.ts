/** Change of a key on its page: limits, budgets, owner, tags, models and expiry, beside the equal command; what open tasks hold. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { videoClient } from '../../test/gateway/video-client.ts';
import {
  adminOf,
  assertFits,
  assertSound,
  openBrowser,
  signInAsAdmin,
  startGatewayForOperators,
  type Theme,
  visit,
} from './browser.ts';

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

for (const [theme, width] of [
  ['light', 1280],
  ['dark', 360],
] satisfies [Theme, number][]) {
  test(`each setting of a key is changed or removed, and no other, ${theme}, ${width} wide`, async () => {
    const name = `laptop-${width}`;
    const admin = adminOf(gateway);
    const made = await admin('POST', '/keys', {
      name,
      owner: 'Ana',
      tags: { team: 'search', env: 'prod' },
      models: ['sandbox/*'],
      metadata: { ticket: '7' },
      limits: { requests_per_minute: 60, concurrent_requests: 4 },
      budgets: { month: '25.00', week: '10.00' },
      expires_at: '2030-01-31',
    });
    const { hash } = made.data;
    const visitor = await signInAsAdmin(browser, gateway, `/ui/keys?open=${hash}`, { theme, width });
    const { page } = visitor;
    await page.getByRole('button', { name: 'Change …' }).click();
    const form = page.getByRole('dialog', { name: `Change ${name}` });
    const save = form.getByRole('button', { name: 'Save' });
    assert.ok(await save.isDisabled(), 'nothing is changed yet');
    assert.equal(await form.getByLabel('Weekly budget').inputValue(), '10.00');
    await assertSound(visitor);
    await form.getByLabel('Owner').fill('');
    await form.getByLabel('Tags').fill('team=ads, env=prod');
    await form.getByRole('textbox', { name: /^Models/ }).fill('');
    await form.getByLabel('Weekly budget').fill('');
    await form.getByLabel('Daily budget').fill('much');
    await form.getByLabel('Requests/min').fill('');
    await form.getByLabel('Tokens/min').fill('5000');
    await form.getByLabel('Expires').fill('2031-02-28');
    await save.click();
    await form.getByText('budgets.day must be USD').first().waitFor();
    visitor.faults.length = 0;
    await form.getByLabel('Daily budget').fill('5.00');
    const words = ['--owner none', '--models all', '--rpm none', '--tpm 5000', '--expires 2031-02-28'];
    const budgets = ['--budget day=5.00', '--budget week=none', '--tag team=ads'];
    const command = new RegExp([`polygate keys update ${name}`, ...words, ...budgets].join(' \\\\\\s+'));
    await form.getByText(command).waitFor();

    // Another operator changes the same key meanwhile.
    await admin('PATCH', `/keys/${hash}`, { metadata: { ticket: '8' }, limits: { concurrent_requests: 5 } });
    await save.click();
    await form.waitFor({ state: 'hidden' });
    const { data } = await admin('GET', `/keys/${hash}`);
    const { owner, tags, models, metadata, limits, budgets: kept, expires_at: expires } = data;
    assert.deepEqual(
      { owner, tags, models, metadata, limits, budgets: kept, expires },
      {
        owner: null,
        tags: { team: 'ads', env: 'prod' },
        models: null,
        metadata: { ticket: '8' },
        limits: { tokens_per_minute: 5000, concurrent_requests: 5 },
        budgets: { day: '5.00', month: '25.00' },
        expires: '2031-02-28T00:00:00.000Z',
      },
    );
    await page.getByRole('dialog', { name }).getByText('5,000').waitFor();
    await page.getByRole('dialog', { name }).getByText('Feb 28, 2031').waitFor();
    await assertFits(page);
    await assertSound(visitor);
  });
}

test('what another operator has set meanwhile is named before it is replaced', async () => {
  const admin = adminOf(gateway);
  const { data: made } = await admin('POST', '/keys', { name: 'shared', owner: 'Ana', budgets: { month: '25.00' } });
  const path = `/keys/${made.hash}`;
  const { page } = await signInAsAdmin(browser, gateway, `/ui/keys?open=${made.hash}`);
  await page.getByRole('button', { name: 'Change …' }).click();
  const form = page.getByRole('dialog', { name: 'Change shared' });
  await form.getByLabel('Owner').fill('Ben');
  await form.getByLabel('Monthly budget').fill('30.00');
  await form.getByLabel('Tokens/min').fill('5000');
  await admin('PATCH', path, { owner: 'Cleo', budgets: { month: null, day: '2.00' } });
  await form.getByRole('button', { name: 'Save' }).click();
  const words = 'Somebody else has set owner to Cleo and removed budgets.month meanwhile. Save again to replace that.';
  await form.getByRole('alert').getByText(words).waitFor();
  const before = (await admin('GET', path)).data;
  assert.deepEqual([before.owner, before.limits, before.budgets], ['Cleo', {}, { day: '2.00' }]);
  // Once more, while the question is asked.
  await page.route(`**/admin/v1${path}`, async (route) => {
    const isChange = route.request().method() === 'PATCH';
    if (isChange) await admin('PATCH', path, { owner: 'Dora' });
    await route.continue();
    if (isChange) await page.unrouteAll();
  });
  await form.getByRole('button', { name: 'Save' }).click();
  await form
    .getByRole('alert')
    .getByText(/set owner to Dora meanwhile/)
    .waitFor();
  await form.getByRole('button', { name: 'Save' }).click();
  await form.waitFor({ state: 'hidden' });
  const { owner, limits, budgets } = (await admin('GET', path)).data;
  assert.deepEqual([owner, limits, budgets], ['Ben', { tokens_per_minute: 5000 }, { month: '30.00', day: '2.00' }]);
});

test('the bar of a budget shows what open videos hold, for operators and for the holder of the key', async () => {
  const video = '{ id: video, video: { durations: [4], prices: { per-video-second: "0.50" } } }';
  const other = await startGatewayForOperators(`providers: { sandbox: { type: sandbox, models: [${video}] } }`);
  try {
    const { data, key } = await adminOf(other)('POST', '/keys', { name: 'films', budgets: { month: '10.00' } });
    await videoClient(other, key).create({ prompt: 'hang', duration: 4, resolution: undefined });
    const bar = { name: /20 % held by what runs/ };
    const operator = await signInAsAdmin(browser, other, `/ui/keys?open=${data.hash}`);
    await operator.page.getByRole('dialog', { name: 'films' }).getByRole('img', bar).waitFor();
    const holder = await visit(browser, `${other.url}/ui/key`);
    await holder.page.getByLabel('API key').fill(key);
    await holder.page.keyboard.press('Enter');
    await holder.page.getByRole('img', bar).waitFor();
  } finally {
    await other.close();
  }
});
