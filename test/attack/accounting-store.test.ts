/** Attacks on the usage records, on both engines with real gateways: nobody's figures stop the others. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { Client } from 'pg';
import { Secret } from '../../src/security/secret.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import {
  type Answerer,
  answerJson,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type UpstreamCall,
} from '../gateway/harness.ts';
import { get, hear, recordOf } from '../gateway/usage-client.ts';
import { providePostgres } from '../store/postgres-server.ts';
import { attack } from './attack.ts';

const AREA = 'accounting';
const OTHER = 'sk-test-somebody-else-0123456789';
const OPERATIONS = new URL('../../src/store/operations/index.ts', import.meta.url);
const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };

interface Stage {
  gateway: TestGateway;
  /** Runs SQL on the database of records, beside the gateway. */
  sql(text: string): Promise<void>;
  /** Of the database; empty where it is a file. */
  url: string;
}

function wholeAnswer(usage: object) {
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }];
  return { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage };
}

async function stage(context: TestContext, engine: 'sqlite' | 'postgres', answer: Answerer): Promise<Stage> {
  const upstream = await startUpstream(answer);
  const database = engine === 'postgres' ? await providePostgres() : undefined;
  const model = (id: string) => `{ id: ${id}, pricing: { prompt: "0.000001", completion: "0.00001" } }`;
  const gateway = await startTestGateway(
    `
encryption: { key: "${randomBytes(32).toString('base64')}" }
providers:
  bills: { type: openrouter, base_url: "${upstream.url}/v1", api_key: k, models: [${model('m')}, ${model('poison')}, { id: n }] }
`,
    { keys: [`{ name: other, key: ${OTHER}, budgets: { total: "1" } }`], postgres: database?.url },
  );
  context.after(async () => {
    await gateway.close();
    await upstream.close();
    await database?.close();
  });
  async function sql(text: string): Promise<void> {
    if (!database) {
      const file = new DatabaseSync(join(gateway.folder, 'usage.db'));
      file.exec(text);
      return file.close();
    }
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query(text);
    await client.end();
  }
  return { gateway, sql, url: database?.url ?? '' };
}

async function isReady({ url }: TestGateway): Promise<boolean> {
  const response = await fetch(`${url}/readyz`);
  await response.text();
  return response.ok;
}

/** A figure of `/metrics`. */
async function figure({ url }: TestGateway, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^polygate_${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

/** What refuses a record, as a broken column or a rule of the operator's would. */
const POISON = {
  sqlite: `CREATE TRIGGER poison BEFORE INSERT ON usage_request WHEN NEW.endpoint_model = 'poison'
    BEGIN SELECT RAISE(ABORT, 'poisoned'); END`,
  postgres: `CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'poisoned' USING ERRCODE = '23514'; END $$;
    CREATE TRIGGER poison BEFORE INSERT ON usage_request FOR EACH ROW
    WHEN (NEW.endpoint_model = 'poison') EXECUTE FUNCTION poison()`,
};

const ask = ({ url }: TestGateway, model: string, key?: string) =>
  hear(url, { protocol: 'chat', model, text: 'Hi', ...(key !== undefined && { key }) });

for (const engine of ['sqlite', 'postgres'] as const) {
  attack(
    AREA,
    {
      by: 'upstream',
      attempt: `a bill of 9,000,000 USD, ten times, for a model without prices (${engine})`,
      bound: 'every key is answered, the gateway is ready, and nothing waits',
    },
    async (context) => {
      const { gateway } = await stage(context, engine, (_call, response) =>
        answerJson(response, wholeAnswer({ ...USAGE, cost: 9_000_000 })),
      );
      const answers = await Promise.all(Array.from({ length: 10 }, () => ask(gateway, 'bills/n')));
      assert.ok(answers.every(({ status }) => status === 200));
      const { status, id } = await ask(gateway, 'bills/m', OTHER);
      assert.deepEqual([status, (await recordOf(gateway.url, id, OTHER)).total_cost], [200, 0.0002]);
      assert.deepEqual([await isReady(gateway), await figure(gateway, 'usage_records_waiting')], [true, 0]);
      for (const path of ['/v1/usage', '/v1/key']) assert.equal((await get(gateway.url, path)).status, 200);
      return `${answers.length} of ${answers.length} answered`;
    },
  );

  attack(
    AREA,
    {
      by: 'upstream',
      attempt: `5,000 USD a request, on sums that are nearly full (${engine})`,
      bound: 'the sums stay at the largest integer; other keys and the key’s own figures are served',
    },
    async (context) => {
      const { gateway, sql } = await stage(context, engine, (_call, response) =>
        answerJson(response, wholeAnswer({ ...USAGE, cost: 5000 })),
      );
      await ask(gateway, 'bills/m');
      // What was just answered is in the store when it is read.
      await get(gateway.url, '/v1/usage');
      await sql('UPDATE budget SET spent = 9223372036854775000');
      await sql('UPDATE usage_hour SET cost = 9223372036854775000');
      for (let count = 0; count < 3; count++) assert.equal((await ask(gateway, 'bills/m')).status, 200);
      const { body } = await get(gateway.url, '/v1/usage');
      assert.equal(body.total.cost, '9223372.036854775807');
      assert.equal((await get(gateway.url, '/v1/key')).body.data.usage, 9223372.036854776);
      assert.equal((await ask(gateway, 'bills/m', OTHER)).status, 200);
      assert.ok(await isReady(gateway));
      return `${body.total.cost} USD`;
    },
  );

  attack(
    AREA,
    {
      by: 'upstream',
      attempt: `a record that the store refuses, among those of others (${engine})`,
      bound: 'it is set aside, logged and counted, once; the others are recorded and the gateway is ready',
    },
    async (context) => {
      const { gateway, sql } = await stage(context, engine, (_call, response) =>
        answerJson(response, wholeAnswer({ ...USAGE, cost: 0.5 })),
      );
      await sql(POISON[engine]);
      const models = Array.from({ length: 12 }, (_, index) => (index % 4 === 1 ? 'bills/poison' : 'bills/m'));
      const answers = await Promise.all(models.map((model) => ask(gateway, model)));
      assert.ok(answers.every(({ status }) => status === 200));
      for (const [index, { id }] of answers.entries()) {
        if (models[index] === 'bills/m') assert.equal((await recordOf(gateway.url, id)).total_cost, 0.5);
        else assert.equal((await get(gateway.url, `/v1/generation?id=${id}`)).status, 404);
      }
      const refused = answers.filter((_, index) => models[index] !== 'bills/m').map(({ id }) => id);
      const logged = gateway.log.filter(({ msg }) => msg === 'the store refused a usage record');
      assert.deepEqual(logged.map(({ request }) => request).sort(), refused.sort());
      assert.ok(logged.every(({ kept, record }) => kept && JSON.parse(record).cost === '500000000000'));
      assert.equal(await figure(gateway, 'usage_records_refused'), refused.length);
      assert.deepEqual([await isReady(gateway), await figure(gateway, 'usage_records_waiting')], [true, 0]);
      return `${refused.length} set aside, ${answers.length - refused.length} recorded`;
    },
  );
}

attack(
  AREA,
  {
    by: 'key holder',
    attempt: 'requests while usage records cannot be written though the store can (postgres)',
    bound: 'refused with 503, and /readyz says so, until they can',
  },
  async (context) => {
    const { gateway, sql } = await stage(context, 'postgres', (_call, response) =>
      answerJson(response, wholeAnswer(USAGE)),
    );
    await sql(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$;
      CREATE TRIGGER full_disk BEFORE INSERT ON usage_group FOR EACH ROW EXECUTE FUNCTION full_disk()`);
    await ask(gateway, 'bills/m');
    const { status, headers } = await ask(gateway, 'bills/m', OTHER);
    assert.deepEqual([status, headers['retry-after'] !== undefined], [503, true]);
    assert.equal(await isReady(gateway), false);
    await sql('DROP TRIGGER full_disk ON usage_group');
    while (!(await isReady(gateway))) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal((await ask(gateway, 'bills/m', OTHER)).status, 200);
    return '503, then 200';
  },
);

attack(
  AREA,
  {
    by: 'upstream',
    attempt: 'an answer to a gateway that stood still for so long that others wrote it off (postgres)',
    bound: 'the record, the sums and the budget have the true figures, once',
  },
  async (context) => {
    const begun = Promise.withResolvers<UpstreamCall>();
    const go = Promise.withResolvers<void>();
    const { gateway, sql, url } = await stage(context, 'postgres', async (call, response) => {
      begun.resolve(call);
      await go.promise;
      answerJson(response, wholeAnswer({ ...USAGE, cost: 0.25 }));
    });
    const answer = ask(gateway, 'bills/m', OTHER);
    await begun.promise;
    const beside = await openPostgres({ url: new Secret(url), operations: OPERATIONS, migrations: MIGRATIONS_FOLDER });
    await sql('UPDATE instance SET heartbeat_until = 0');
    assert.equal((await beside.call('recoverUsage', { now: beside.now() })).recovered, 1);
    await beside.close();
    go.resolve();
    const { id } = await answer;
    const record = await recordOf(gateway.url, id, OTHER);
    assert.deepEqual([record.status, record.total_cost, record.tokens_completion], ['completed', 0.25, 10]);
    const { body } = await get(gateway.url, '/v1/usage', OTHER);
    assert.deepEqual([body.total.requests, body.total.cost, body.total.output_tokens], [1, '0.25', 10]);
    assert.equal((await get(gateway.url, '/v1/key', OTHER)).body.data.usage, 0.25);
    return `${record.total_cost} USD`;
  },
);
