/** `polygate health` and `polygate migrate`, as scripts and service managers use them. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { MIGRATIONS_FOLDER, readMigrations } from '../../src/store/migrations.ts';
import { program } from './program.ts';

/** Port of a server in the place of a gateway. */
async function served(context: TestContext, respond: (path: string | undefined, response: ServerResponse) => void) {
  const server = createServer(({ url }, response) => respond(url, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  return (server.address() as { port: number }).port;
}

describe('health', () => {
  test('asks the address of the configuration, also of one that is invalid by now', async (context) => {
    const paths: (string | undefined)[] = [];
    const port = await served(context, (path, response) => {
      paths.push(path);
      response.end('{"status":"ok"}');
    });
    const { folder, run } = program(context);
    const file = join(folder, 'polygate.yaml');
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the file's own reference to the environment
    const server = 'server: { host: 0.0.0.0, port: "${GATEWAY_PORT}" }\n';
    for (const text of [server, `${server}keys: [{ nme: a }]\n`]) {
      writeFileSync(file, text);
      const { code, stdout, stderr } = await run(['health'], { GATEWAY_PORT: String(port) });
      assert.deepEqual([code, stdout, stderr], [0, 'ready\n', '']);
    }
    writeFileSync(file, '{');
    assert.equal((await run(['health', '--port', String(port)])).code, 0);
    assert.equal((await run(['health'], { PORT: String(port) })).code, 0);
    assert.equal((await run(['health', '--url', `http://127.0.0.1:${port}/`])).code, 0);
    assert.deepEqual(new Set(paths), new Set(['/readyz']));
  });

  test('says in one line why a gateway is not ready', async (context) => {
    const bodies = ['{"status":"unavailable","reason":"The store cannot be written to."}', 'no JSON'];
    const port = await served(context, (_path, response) => response.writeHead(503).end(bodies.shift()));
    const { run } = program(context);
    const ask = () => run(['health', '--port', String(port)]);
    for (const reason of ['The store cannot be written to.', 'HTTP status 503']) {
      const { code, stdout, stderr } = await ask();
      assert.deepEqual([code, stdout], [1, '']);
      assert.equal(stderr, `The gateway at http://127.0.0.1:${port} is not ready: ${reason}\n`);
    }
  });

  test('fails where nobody listens or answers', async (context) => {
    const { run } = program(context);
    const refused = await run(['health', '--port', '1']);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^The gateway at http:\/\/127\.0\.0\.1:1 is not ready: connect ECONNREFUSED[^\n]*\n$/);
    const secure = await run(['health', '--url', 'https://127.0.0.1:1']);
    assert.match(secure.stderr, /^The gateway at https:\/\/127\.0\.0\.1:1 is not ready: connect ECONNREFUSED[^\n]*\n$/);
    for (const url of ['gateway', 'gateway:8080', 'ftp://gateway']) {
      const { code, stderr } = await run(['health', '--url', url]);
      assert.deepEqual(
        [code, stderr],
        [1, `--url is the address of the gateway, such as http://127.0.0.1:8080; it is ${url}\n`],
      );
    }
    const port = await served(context, () => undefined);
    const plain = `https://127.0.0.1:${port}`;
    assert.equal(
      (await run(['health', '--url', plain])).stderr,
      `The gateway at ${plain} is not ready: it speaks http, not https\n`,
    );
    const silent = await run(['health', '--port', String(port), '--timeout', '100ms']);
    assert.deepEqual(
      [silent.code, silent.stderr],
      [1, `The gateway at http://127.0.0.1:${port} is not ready: no answer within 100ms\n`],
    );
    const unset = await run(['health', '--config', 'server: { port: 1 }\n'], { PORT: '' });
    assert.match(unset.stderr, /^The gateway at http:\/\/127\.0\.0\.1:1 is not ready/, 'an empty variable is none');
    const chosen = await run(['health'], { PORT: '0' });
    assert.match(chosen.stderr, /name its address with --url/);
  });
});

describe('migrate', () => {
  const names = (['state', 'usage'] as const).flatMap((database) =>
    readMigrations(MIGRATIONS_FOLDER, database, 'sqlite').map(({ name }) => name),
  );

  test('--check tells what is pending and changes nothing; without it, it is applied', async (context) => {
    const { folder, run } = program(context);
    const pending = await run(['migrate', '--check']);
    assert.deepEqual([pending.code, pending.stdout], [1, names.map((name) => `pending ${name}\n`).join('')]);
    assert.ok(!existsSync(join(folder, 'data')));
    const applied = await run(['migrate']);
    assert.equal(applied.code, 0, applied.stderr);
    assert.ok(
      applied.stdout.startsWith(`applying ${names[0]}\n`) && applied.stdout.endsWith('The store is migrated.\n'),
    );
    for (const args of [['migrate'], ['migrate', '--check']]) {
      assert.deepEqual(await run(args), { code: 0, stdout: 'The store is up to date.\n', stderr: '' });
    }
  });

  test('names migrations of newer versions, and refuses a store that this version may not use', async (context) => {
    const { folder, run } = program(context);
    await run(['migrate']);
    const database = new DatabaseSync(join(folder, 'data/state.db'));
    const insert = "INSERT INTO migration VALUES (?, 'x', 0, ?)";
    database.prepare(insert).run('state/9000-later.sql', '0.0.1');
    const newer = await run(['migrate', '--check']);
    assert.deepEqual([newer.code, newer.stdout], [0, 'newer state/9000-later.sql\nThe store is up to date.\n']);
    database.prepare(insert).run('state/9001-last.sql', '99.0.0');
    database.close();
    for (const args of [['migrate', '--check'], ['migrate'], ['keys', 'list']]) {
      const { code, stdout, stderr } = await run(args);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(
        stderr,
        /^The store was made by a newer version .*9001-last\.sql, which needs version 99\.0\.0 or newer/,
      );
    }
  });

  test('fails without a database, after the time that it may wait', async (context) => {
    const { folder, run } = program(context);
    writeFileSync(join(folder, 'polygate.yaml'), 'data: postgres://nobody:never-to-be-seen@127.0.0.1:1/none\n');
    for (const args of [['migrate'], ['migrate', '--check', '--wait', '600ms']]) {
      const { code, stdout, stderr } = await run(args);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, /^The store cannot be used: .*ECONNREFUSED[^\n]*\n$/);
      assert.ok(!stderr.includes('never'));
    }
  });

  test('says that a file is no database', async (context) => {
    const { folder, run } = program(context);
    mkdirSync(join(folder, 'data'));
    writeFileSync(join(folder, 'data/state.db'), 'x'.repeat(8192));
    const { code, stderr } = await run(['migrate', '--check']);
    assert.deepEqual([code, /^The store cannot be used: the file is no database/.test(stderr)], [1, true], stderr);
  });
});
