/** `polygate catalog update`: facts from a source over HTTP, into the data folder, and no price that a source made up. */

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { bundledModelEntries } from '../../src/catalog/bundled.ts';
import type { CatalogEntry } from '../../src/catalog/entry.ts';
import { isWholeEntry } from '../../src/catalog/entry-check.ts';
import { updateCatalog } from '../../src/catalog/import/update.ts';
import { readCatalog, updatedCatalogText } from '../../src/catalog/updated.ts';
import { startCatalogSchedule } from '../../src/cli/catalog-schedule.ts';
import type { Json } from '../../src/core/json/json.ts';
import { KEY, startTestGateway } from '../gateway/harness.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { program } from './program.ts';

const KNOWN = 'openai/gpt-5';

function bundled(id: string): CatalogEntry {
  return bundledModelEntries().find((entry) => entry.id === id) ?? assert.fail(`${id} is bundled`);
}

/** A list in the form of models.dev; prices are per million tokens. */
function listOf(models: Record<string, Json>, provider = 'openai'): string {
  const full = Object.entries(models).map(([id, model]) => [
    id,
    {
      id,
      name: id,
      tool_call: true,
      modalities: { input: ['text'], output: ['text'] },
      limit: { context: 400_000, output: 128_000 },
      ...model,
    },
  ]);
  return JSON.stringify({ [provider]: { id: provider, models: Object.fromEntries(full) } });
}

async function source(context: TestContext, answer: Answer): Promise<string> {
  return (await countedSource(context, answer)).url;
}

interface Answer {
  status?: number;
  text: string;
}

async function countedSource(context: TestContext, answer: Answer): Promise<{ url: string; count(): number }> {
  let count = 0;
  const server = createServer((_request, response) => {
    count += 1;
    response.writeHead(answer.status ?? 200, answer.status === 302 ? { location: 'http://127.0.0.1:1/' } : {});
    response.end(answer.text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api.json`;
  return { url, count: () => count };
}

const perMillion = (price: string | undefined) => Number(price) * 1e6;

test('a new model and a new price are written, shown, and used by the commands', async (context) => {
  const { prompt, completion } = bundled(KNOWN).pricing ?? {};
  const text = listOf({
    'gpt-5': { cost: { input: perMillion(prompt) * 2, output: perMillion(completion) } },
    'gpt-99': { cost: { input: 3, output: 12 } },
  });
  const url = await source(context, { text });
  const { folder, run } = program(context);
  const dry = await run(['catalog', 'update', '--source', url, '--dry-run']);
  assert.equal(dry.code, 0, dry.stderr);
  assert.match(dry.stderr, /Nothing was written/);
  assert.equal(readCatalog(join(folder, 'data')).entries().length, bundledModelEntries().length);

  const { code, stdout, stderr } = await run(['catalog', 'update', '--source', url]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, new RegExp(`^openai/gpt-5\tpricing\\.prompt\t${prompt}\t0\\.0000025\t$`, 'm'));
  assert.match(stderr, /models-dev: 1 models added, 1 changed\.\nWrote .*catalog\.json/);
  const models = JSON.parse((await run(['models', '--provider', 'openai', '--json'], { OPENAI_API_KEY: 'k' })).stdout);
  const byId = new Map<string, Json>(models.map((model: Json) => [model.id, model]));
  assert.equal(byId.get(KNOWN).pricing.prompt, '0.0000025');
  assert.equal(byId.get('openai/gpt-99').pricing.completion, '0.000012');
  const again = await run(['catalog', 'update', '--source', url]);
  assert.deepEqual([again.code, again.stdout], [0, '']);
  assert.match(again.stderr, /Nothing changed/);
});

test('prices that become free, absurd or negative are refused, and said; a person may accept them', () => {
  const before = bundledModelEntries();
  const options = { before, bundled: before };
  const old = bundled(KNOWN).pricing?.prompt;
  const cases: [cost: Json, reason: RegExp | undefined, after: string | undefined][] = [
    [{ input: 0, output: 0 }, /would become free/, old],
    [{ input: 0.00001 }, /less than a tenth/, old],
    [{ input: 1000 }, /more than 10 times/, old],
    [{ input: 100_000 }, /higher than any price/, old],
    [{ input: -1 }, undefined, old],
    [{ input: 'x' }, undefined, old],
    [{ input: perMillion(old) / 2 }, undefined, '0.000000625'],
  ];
  for (const [cost, reason, after] of cases) {
    const update = updateCatalog(listOf({ 'gpt-5': { cost } }), options);
    const found = update.entries.find(({ id }) => id === KNOWN)?.pricing?.prompt;
    assert.equal(found, after, JSON.stringify(cost));
    const refused = update.changes.find(({ id, fact }) => id === KNOWN && fact === 'pricing.prompt')?.refused;
    if (reason) assert.match(refused ?? '', reason);
    else assert.equal(refused, undefined);
  }
  const free = updateCatalog(listOf({ 'gpt-5': { cost: { input: 0, output: 0 } } }), {
    ...options,
    acceptsPrices: true,
  });
  assert.equal(free.entries.find(({ id }) => id === KNOWN)?.pricing?.prompt, '0');
});

test('many small steps do not lead away from the bundled prices', () => {
  const shipped = bundledModelEntries();
  let before: readonly CatalogEntry[] = shipped;
  for (const part of [1 / 5, 1 / 25, 1 / 125]) {
    const input = perMillion(bundled(KNOWN).pricing?.prompt) * part;
    before = updateCatalog(listOf({ 'gpt-5': { cost: { input } } }), { before, bundled: shipped }).entries;
  }
  assert.equal(before.find(({ id }) => id === KNOWN)?.pricing?.prompt, '0.00000025');
});

test('a new model without a price to pay has an unknown price, unless its name says that it is free', () => {
  const before = bundledModelEntries();
  const list = listOf(
    { 'new-model': { cost: { input: 0, output: 0 } }, 'new-model:free': { cost: { input: 0, output: 0 } } },
    'openrouter',
  );
  const { entries } = updateCatalog(list, { before, bundled: before });
  const pricing = (id: string) => entries.find((entry) => entry.id === id)?.pricing;
  assert.deepEqual(pricing('openrouter/new-model'), {});
  assert.equal(pricing('openrouter/new-model:free')?.prompt, '0');
});

test('facts of a hostile source have bounds, and wrong ones keep what was known', () => {
  const before = bundledModelEntries();
  const options = { before, bundled: before };
  const hostile = listOf({
    'gpt-5': { limit: { context: 10, output: 1 }, name: 'x'.repeat(1000), release_date: { a: 1 } },
    'evil\nname': {},
    '../../etc': {},
    ['y'.repeat(300)]: {},
  });
  const { entries, changes, added } = updateCatalog(hostile, options);
  const found = entries.find(({ id }) => id === KNOWN);
  assert.deepEqual(
    [found?.contextLength, found?.maxOutput, found?.name],
    [bundled(KNOWN).contextLength, bundled(KNOWN).maxOutput, bundled(KNOWN).name],
  );
  assert.deepEqual(
    changes.filter(({ refused }) => refused).map(({ fact }) => fact),
    ['contextLength', 'maxOutput'],
  );
  assert.deepEqual(added, ['openai/../../etc']);
  assert.ok(entries.every(isWholeEntry));
  assert.throws(() => updateCatalog('{}', options), /in none of the formats/);
  assert.throws(() => updateCatalog('[', options), SyntaxError);
});

test('every bundled entry is one that the check lets through', () => {
  assert.deepEqual(
    bundledModelEntries()
      .filter((entry) => !isWholeEntry(entry))
      .map(({ id }) => id),
    [],
  );
});

test('a damaged file, and one of an earlier version, leave the bundled facts, with a warning', async (context) => {
  const { folder, run } = program(context);
  const { pricing } = bundled(KNOWN);
  const url = await source(context, { text: listOf({ 'gpt-99': { cost: { input: 3, output: 12 } } }) });
  assert.equal((await run(['catalog', 'update', '--source', url])).code, 0);
  const path = join(folder, 'data', 'catalog.json');
  const whole = readFileSync(path, 'utf8');
  const free = whole.replace(`"prompt":"${pricing?.prompt}"`, '"prompt":"0"');
  assert.notEqual(free, whole);
  const cases: [string, RegExp][] = [
    [whole.slice(0, -20), /is damaged/],
    [free, /is damaged/],
    ['', /is damaged/],
    ['[]', /is damaged/],
    [whole.replace(/"bundle":"./, '"bundle":"_'), /is older than the facts of this version/],
  ];
  for (const [text, problem] of cases) {
    writeFileSync(path, text);
    const checked = await run(['check']);
    assert.equal(checked.code, 0, checked.stderr);
    assert.match(checked.stderr, problem);
    const { stdout } = await run(['models', '--provider', 'openai', '--json'], { OPENAI_API_KEY: 'k' });
    assert.ok(!stdout.includes('gpt-99'));
  }
  // The next update heals it.
  assert.equal((await run(['catalog', 'update', '--source', url])).code, 0);
  assert.equal(readFileSync(path, 'utf8'), whole);
});

test('the file says the same for the same entries', () => {
  const entries = bundledModelEntries().slice(0, 3);
  assert.equal(updatedCatalogText(entries), updatedCatalogText(structuredClone(entries)));
});

test('a source that fails, sends something else or leads elsewhere changes nothing', async (context) => {
  const { folder, run } = program(context);
  const cases: [string, RegExp][] = [
    [await source(context, { status: 500, text: '' }), /answered with 500/],
    [await source(context, { text: '<html>' }), /gives no facts about models/],
    [await source(context, { status: 302, text: '' }), /answered with 302/],
    ['http://127.0.0.1:1/x', /is not reached/],
    ['http://catalog.example/x', /Only https addresses/],
    ['missing.json', /missing\.json/],
  ];
  for (const [url, problem] of cases) {
    const { code, stderr } = await run(['catalog', 'update', '--source', url]);
    assert.equal(code, 1, url);
    assert.match(stderr, problem);
  }
  assert.equal(readCatalog(join(folder, 'data')).entries().length, bundledModelEntries().length);
});

test('a gateway serves the updated facts after a reload', async (context) => {
  const yaml = 'providers: { openai: { api_key: k } }';
  const gateway = await startTestGateway(yaml);
  context.after(() => gateway.close());
  const ask = () => fetch(`${gateway.url}/v1/models/openai/gpt-99`, { headers: { authorization: `Bearer ${KEY}` } });
  assert.equal((await ask()).status, 404);
  const before = bundledModelEntries();
  const { entries } = updateCatalog(listOf({ 'gpt-99': {} }), { before, bundled: before });
  writeFileSync(join(gateway.folder, 'catalog.json'), updatedCatalogText(entries));
  context.after(() => rmSync(join(gateway.folder, 'catalog.json'), { force: true }));
  gateway.reload(yaml);
  assert.equal((await ask()).status, 200);
});

test('a schedule keeps to a configuration that is YAML on the command line', async (context) => {
  const url = await source(context, { text: listOf({ 'gpt-99': { cost: { input: 3, output: 12 } } }) });
  const { folder, start } = program(context);
  const yaml = `{ data: ./elsewhere, catalog: { update: daily, source: "${url}" } }`;
  const gateway = start(['serve', '--port', '0', '--config', yaml]);
  await gateway.shows(/"msg":"the facts about models were (not )?updated"/);
  assert.match(readFileSync(join(folder, 'elsewhere/catalog.json'), 'utf8'), /gpt-99/);
  gateway.signal('SIGTERM');
  assert.equal((await gateway.ended).code, 0);
});

test('a gateway with a schedule takes newer facts itself, says what differs, and uses them', async (context) => {
  const { prompt } = bundled(KNOWN).pricing ?? {};
  const url = await source(context, {
    text: listOf({
      'gpt-5': { cost: { input: perMillion(prompt) * 2 } },
      'gpt-99': { cost: { input: 3, output: 12 } },
    }),
  });
  const { folder, start } = program(context);
  writeFileSync(
    join(folder, 'polygate.yaml'),
    `catalog: { update: daily, source: "${url}" }\nproviders: { openai: { api_key: sk-never-used-0123456789 } }\n`,
  );
  const gateway = start(['serve', '--port', '0']);
  const [, address] = await gateway.shows(/listens on (\S+)/);
  await gateway.shows(/"model":"openai\/gpt-5","fact":"pricing.prompt".*"a fact about a model differs"/);
  await gateway.shows(/"the facts about models were updated"[\s\S]*"the configuration is reloaded"/);
  const { data } = (await (await fetch(`${address}/v1/models`)).json()) as Json;
  assert.equal(data.find(({ id }: Json) => id === 'openai/gpt-99').pricing.completion, '0.000012');
  gateway.signal('SIGTERM');
  assert.equal((await gateway.ended).code, 0);
});

test('a schedule asks once a day, tries again in an hour where the source fails, and does nothing while it is off', async (context) => {
  const answer = { status: 503, text: listOf({ 'gpt-99': { cost: { input: 3, output: 12 } } }) };
  const asked = await countedSource(context, answer);
  const { folder } = program(context);
  const data = join(folder, 'data');
  writeFileSync(join(folder, 'polygate.yaml'), `data: ${JSON.stringify(data)}\ncatalog: { source: "${asked.url}" }\n`);
  const clock = createManualClock(Date.now());
  const lines: string[] = [];
  const note = (_: object, text: string) => void lines.push(text);
  const catalog: { updateMs?: number; source: string } = { source: asked.url };
  const end = startCatalogSchedule({
    program: [process.execPath, join(import.meta.dirname, '../../src/main.ts')],
    options: ['--config', join(folder, 'polygate.yaml')],
    config: () => ({ data, catalog }),
    clock,
    log: { info: note, warn: note } as never,
    onUpdated: () => void lines.push('updated'),
    random: () => 0,
  });
  context.after(end);
  const HOUR_MS = 3_600_000;
  /** Lets minutes pass, each look in its turn. */
  const pass = async (milliseconds: number, until: () => boolean = () => true) => {
    for (let passed = 0; passed < milliseconds; passed += 60_000) clock.advance(60_000);
    while (!until()) await new Promise((resolve) => setTimeout(resolve, 20));
    // The look goes on after what it waited for.
    await new Promise((resolve) => setImmediate(resolve));
  };
  await pass(HOUR_MS);
  assert.equal(asked.count(), 0, 'it asks while it is off');
  catalog.updateMs = 24 * HOUR_MS;
  await pass(60_000, () => lines.includes('the facts about models were not updated'));
  assert.equal(asked.count(), 1);
  answer.status = 200;
  await pass(HOUR_MS - 120_000);
  assert.equal(asked.count(), 1, 'it asks again too early');
  await pass(240_000, () => lines.includes('updated'));
  assert.equal(asked.count(), 2);
  await pass(23 * HOUR_MS);
  assert.equal(asked.count(), 2);
  await pass(2 * HOUR_MS, () => asked.count() === 3);
  clock.set(clock.now() - 8760 * HOUR_MS);
  await pass(23 * HOUR_MS);
  assert.equal(asked.count(), 3, 'it asks again too early');
  await pass(0, () => {
    clock.advance(60_000);
    return asked.count() === 4;
  });
});
