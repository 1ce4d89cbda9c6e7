/** Advanced settings of a key: surfaces, addresses, stored responses, notes and limits per model, in the form and beside it. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { eventually } from '../../test/gateway/video-client.ts';
import { adminOf, assertFits, assertSound, openBrowser, signInAsAdmin, startGatewayForOperators } from './browser.ts';

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

for (const [theme, width] of [
  ['light', 1280],
  ['dark', 360],
] as const) {
  test(`they are set, refused at their fields, changed and removed, ${theme}, ${width} wide`, async () => {
    const name = `batch-${width}`;
    const admin = adminOf(gateway);
    const visitor = await signInAsAdmin(browser, gateway, '/ui/keys?create=true', { theme, width });
    const { page, faults } = visitor;
    let form = page.getByRole('dialog', { name: 'Create a key' });
    const field = (label: string) => form.getByLabel(new RegExp(`^${label}`));
    const create = form.getByRole('button', { name: 'Create', exact: true });
    await field('Name').fill(name);
    assert.ok(!(await field('Surfaces').isVisible()), 'few need them');
    await form.getByText('Advanced').click();
    await field('Surfaces').fill('chat, films');
    await create.click();
    await form
      .getByText(/surfaces.*chat/)
      .first()
      .waitFor();
    await eventually({}, async () => (await field('Surfaces').getAttribute('aria-invalid')) === 'true');
    await field('Surfaces').fill('chat, videos');
    await field('Addresses').fill('10.0.0.0/99');
    await create.click();
    await form
      .getByText(/cidrs\[0\] must be an address range/)
      .first()
      .waitFor();
    assert.equal(await field('Addresses').getAttribute('aria-invalid'), 'true');
    await field('Addresses').fill('10.0.0.0/8');
    await field('Notes').fill('ticket=INF 1\ncost-centre=7');
    await field('Limits per model').fill('sandbox/* rpm=many');
    await create.click();
    await form
      .getByText(/model_limits.*requests_per_minute/)
      .first()
      .waitFor();
    assert.equal(await field('Limits per model').getAttribute('aria-invalid'), 'true');
    faults.length = 0;
    await field('Limits per model').fill('sandbox/* rpm=60 concurrent=2\nopenai/gpt-* tpm=5000');
    await form.getByRole('combobox', { name: 'Responses are stored' }).click();
    await page.getByRole('option', { name: 'no' }).click();
    const words = ['--surfaces chat,videos', '--cidrs 10.0.0.0/8', `--metadata 'ticket=INF 1' cost-centre=7`];
    await form.getByText(new RegExp([`--name ${name}`, ...words, '--no-store-responses'].join(' \\\\\\s+'))).waitFor();
    await form.getByText('The command leaves out limits per model: use the API.').waitFor();
    await form.getByRole('button', { name: 'API' }).click();
    await form.getByText('"openai/gpt-*":{"tokens_per_minute":5000}').waitFor();
    await assertSound(visitor);
    await assertFits(page);
    await create.click();
    await page.getByRole('button', { name: 'I have the key' }).click();
    const made = (await admin('GET', `/keys?name=${name}`)).data[0];
    const settings = ({ surfaces, cidrs, metadata, model_limits, store_responses }: typeof made) => [
      ...[surfaces, cidrs, metadata, model_limits, store_responses],
    ];
    assert.deepEqual(settings(made), [
      ['chat', 'videos'],
      ['10.0.0.0/8'],
      { ticket: 'INF 1', 'cost-centre': '7' },
      {
        'sandbox/*': { requests_per_minute: 60, concurrent_requests: 2 },
        'openai/gpt-*': { tokens_per_minute: 5000 },
      },
      false,
    ]);

    await page.goto(`${gateway.url}/ui/keys?open=${made.hash}`);
    await page.getByRole('dialog', { name }).getByText('60 requests/min, 2 concurrent').waitFor();
    await page.getByRole('button', { name: 'Change …' }).click();
    form = page.getByRole('dialog', { name: `Change ${name}` });
    assert.ok(await field('Surfaces').isVisible(), 'they are used');
    assert.ok(await form.getByRole('button', { name: 'Save' }).isDisabled(), 'nothing is changed yet');
    await field('Surfaces').fill('');
    await field('Notes').fill('ticket=INF 2');
    await field('Limits per model').fill('sandbox/* rpm=90');
    await form.getByRole('combobox', { name: 'Responses are stored' }).click();
    await page.getByRole('option', { name: 'as configured' }).click();
    const changes = ['--surfaces all', `--metadata 'ticket=INF 2' cost-centre=`];
    await form.getByText(new RegExp([`polygate keys update ${name}`, ...changes].join(' \\\\\\s+'))).waitFor();
    await form.getByText(/leaves out limits per model and the return to what is configured/).waitFor();
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'hidden' });
    const { data } = await admin('GET', `/keys/${made.hash}`);
    const perModel = { 'sandbox/*': { requests_per_minute: 90 } };
    assert.deepEqual(settings(data), [null, ['10.0.0.0/8'], { ticket: 'INF 2' }, perModel, null]);
    await assertSound(visitor);
  });
}
