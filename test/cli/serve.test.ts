import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request as post } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { parseCurl } from '../docs/curl.ts';
import { program, type Running } from './program.ts';

/** The loopback address in a form that the gateway takes for one of a network. */
const MAPPED_LOOPBACK = '::ffff:127.0.0.1';
const windows = process.platform === 'win32';

function echo(url: string, key: string): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }),
  });
}

test('an error that nothing caught ends the gateway, with a line of the log that says why', {
  skip: windows,
}, async (context) => {
  const fault = 'process.on("SIGUSR2", () => { throw new Error("unforeseen"); })';
  const preload = `--import=data:text/javascript,${encodeURIComponent(fault)}`;
  const gateway = program(context).start(['serve', '--port', '0'], { NODE_OPTIONS: preload });
  await gateway.shows(/Ctrl-C stops it/);
  gateway.signal('SIGUSR2');
  const { code, stderr } = await gateway.ended;
  const line = JSON.parse(/^\{"level":60.*$/m.exec(stderr)?.[0] ?? '');
  assert.deepEqual([code, line.error], [1, 'unforeseen']);
  assert.match(line.stack, /unforeseen\n +at/);
});

test('a start that fails ends, also where a part of it waits to try again', async (context) => {
  const { folder, start } = program(context);
  writeFileSync(
    join(folder, 'polygate.yaml'),
    'encryption: { key_file: ./gone.key }\n' +
      'providers: { away: { type: openai-compatible, base_url: "http://127.0.0.1:1/v1", models: discover } }\n',
  );
  const { code, stderr } = await start(['serve', '--port', '0']).ended;
  assert.equal(code, 1);
  assert.match(stderr, /^The encryption key \S.*gone\.key is missing: make it with: openssl rand -base64 32\.$/m);
});

describe('the first start', () => {
  test('says where it listens, shows a new key once and who waits for what', async (context) => {
    const { folder, start } = program(context);
    const first = start(['serve', '--port', '0']);
    const [, url = ''] = await first.shows(/listens on (http:\/\/127\.0\.0\.1:\d+)/);
    const [key] = await first.shows(/sk-pg-[A-Za-z0-9_-]{49}/);
    await first.shows(
      /Providers: sandbox \(\d+ models\); \d+ more wait for a key: polygate providers\n[\s\S]*Ctrl-C stops it/,
    );
    assert.equal((await echo(url, key)).status, 200);
    assert.equal((await echo(url, `${key}x`)).status, 401);
    first.signal('SIGTERM');
    assert.equal((await first.ended).code, 0);
    for (const entry of readdirSync(join(folder, 'data'), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      assert.ok(!readFileSync(join(entry.parentPath, entry.name)).includes(key.slice(8)), entry.name);
    }

    // Without a command it serves.
    const second = start([], { PORT: '0' });
    const [banner] = await second.shows(/[\s\S]*Ctrl-C stops it/);
    assert.match(banner, /Bearer \$POLYGATE_KEY"/);
    assert.ok(!banner.includes('sk-pg-'));
  });

  test('that is killed while it waits for models leaves no key that nobody has seen', {
    skip: windows,
    timeout: 120_000,
  }, async (context) => {
    const { folder, start } = program(context);
    const silent = createServer().listen(0, '127.0.0.1');
    context.after(() => silent.close());
    await once(silent, 'listening');
    const address = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/v1`;
    const port = await freePort();
    writeFileSync(
      join(folder, 'polygate.yaml'),
      `server: { port: ${port} }\nproviders: { silent: { type: openai-compatible, base_url: "${address}" } }\n`,
    );
    const asked = once(silent, 'connection');
    const killed = start(['serve']);
    const [connection] = await asked;
    const isReady = () => fetch(`http://127.0.0.1:${port}/readyz`).then(({ ok }) => ok);
    const giveUp = AbortSignal.timeout(20_000);
    while (!(await isReady().catch(() => false))) giveUp.throwIfAborted();
    killed.signal('SIGKILL');
    const { stderr } = await killed.ended;
    connection.destroy();
    assert.doesNotMatch(stderr, /sk-pg-/);
    await start(['serve']).shows(/sk-pg-[A-Za-z0-9_-]{49}/);
  });

  test('prints a line that works as pasted', async (context) => {
    const gateway = program(context).start(['serve', '--port', '0']);
    const [banner] = await gateway.shows(/[\s\S]*Ctrl-C stops it/);
    const lines = banner.match(/^ {2}curl .*$/gm) ?? [];
    assert.equal(lines.length, 1);
    for (const line of lines) {
      const { url, ...request } = parseCurl(line.trim());
      const response = await fetch(url, request);
      assert.equal(response.status, 200);
      assert.match(await response.text(), /Hello/);
    }
  });

  test('says that a provider is not reached, and why', async (context) => {
    const { folder, start } = program(context);
    const closed = 'providers: { near: { type: vllm, base_url: "http://127.0.0.1:9/v1" } }\nserver: { port: 0 }\n';
    writeFileSync(join(folder, 'polygate.yaml'), closed);
    const [banner] = await start(['serve']).shows(/[\s\S]*Ctrl-C stops it/);
    assert.match(banner, /^Providers: sandbox \(\d+ models\);/m);
    assert.match(banner, /^Warning: near is not reached: The upstream could not be reached .*: ECONNREFUSED\.$/m);
  });

  test('makes no key where the configuration has one', async (context) => {
    const { folder, start } = program(context);
    writeFileSync(join(folder, 'polygate.yaml'), 'keys: [{ name: ci, key: 0123456789abcdef }]\nserver: { port: 0 }\n');
    const gateway = start(['serve']);
    const [banner] = await gateway.shows(/[\s\S]*Ctrl-C stops it/);
    assert.ok(!banner.includes('sk-pg-'));
    const url = /http:\/\/\S+/.exec(banner)?.[0] ?? '';
    assert.equal((await echo(url, '0123456789abcdef')).status, 200);
  });

  test('shows the address that clients know, where there is one', async (context) => {
    const { folder, start } = program(context);
    writeFileSync(join(folder, 'polygate.yaml'), 'server: { port: 0, public_url: "https://gw.example.com/" }\n');
    const [banner] = await start(['serve']).shows(/[\s\S]*Ctrl-C stops it/);
    assert.match(banner, /listens on http:\/\/127\.0\.0\.1:\d+ and is reached at https:\/\/gw\.example\.com\n/);
    assert.match(banner, /curl https:\/\/gw\.example\.com\/v1\/chat\/completions/);
  });
});

describe('the first start where other machines can reach the gateway', () => {
  test('shows no key, refuses every request, and says how to make one, which counts soon', async (context) => {
    const { run, start } = program(context);
    const args = ['serve', '--host', MAPPED_LOOPBACK, '--port', '0'];
    const gateway = start(args);
    const [banner, url = ''] = await gateway.shows(/[\s\S]*listens on (\S+)[\s\S]*Ctrl-C stops it/);
    assert.match(banner, /\nThere is no API key yet, so every request is refused\. .*polygate keys create --name NAME/);
    assert.ok(!banner.includes('sk-pg-'));
    assert.equal((await run(['keys', 'list'])).stdout, '');
    const unpresented = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{}' });
    for (const response of [unpresented, await echo(url, 'a-guess')]) {
      assert.equal(response.status, 401);
      assert.match(
        await response.text(),
        /no API key yet. Its operator makes one with: polygate keys create --name NAME/,
      );
    }
    const key = (await run(['keys', 'create', '--name', 'made'])).stdout.trim();
    const giveUp = AbortSignal.timeout(10_000);
    while ((await echo(url, key)).status !== 200) giveUp.throwIfAborted();
    gateway.signal('SIGTERM');
    await gateway.ended;

    await run(['keys', 'revoke', 'made']);
    const again = start(args);
    await again.shows(/\nNo API key is active, so every request is refused\. [\s\S]*Ctrl-C stops it/);
  });

  test('takes the key of a file, once, and never shows it', async (context) => {
    const { folder, run, start } = program(context);
    const file = join(folder, 'key');
    const [key, later] = ['a-first-key', 'another-key'].map((text) => `${text}-0123456789-0123456789`) as [
      string,
      string,
    ];
    const serve = (content: string) => {
      writeFileSync(file, content);
      return start(['serve', '--host', MAPPED_LOOPBACK, '--port', '0'], { POLYGATE_FIRST_KEY_FILE: file });
    };
    const first = serve(`${key}\n`);
    const [, url = ''] = await first.shows(/listens on (\S+)[\s\S]*Ctrl-C stops it/);
    assert.equal((await echo(url, key)).status, 200);
    first.signal('SIGTERM');
    const { stdout, stderr } = await first.ended;
    assert.ok(!`${stdout}${stderr}`.includes(key) && !stderr.includes('no API key'));
    assert.match((await run(['keys', 'list'])).stdout, /^first\ta-fi…\tactive\t[^\n]*\n$/);

    const second = serve(later);
    const [, again = ''] = await second.shows(/listens on (\S+)[\s\S]*Ctrl-C stops it/);
    assert.deepEqual([(await echo(again, key)).status, (await echo(again, later)).status], [200, 401]);
  });
});

describe('a start is refused in one line', () => {
  test('for a port in use', async (context) => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    context.after(() => other.close());
    const { port } = other.address() as { port: number };
    const { run } = program(context);
    const { code, stdout, stderr } = await run(['serve', '--port', String(port)]);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.equal(
      stderr,
      `Port ${port} on 127.0.0.1 is in use. Stop what listens there, or choose another port with --port.\n`,
    );
    assert.equal((await run(['keys', 'list'])).stdout, '');
  });

  test('for a folder that another gateway uses', async (context) => {
    const { folder, run, start } = program(context);
    await start(['serve', '--port', '0']).shows(/Ctrl-C stops it/);
    const { code, stderr } = await run(['serve', '--port', '0']);
    assert.equal(code, 1);
    const data = join(realpathSync(folder), 'data');
    assert.equal(stderr, `A gateway runs on the folder ${data} already. Stop it, or choose another folder.\n`);
  });

  test('for a store with secrets of another encryption key', async (context) => {
    const { folder, run } = program(context);
    assert.equal((await run(['keys', 'create', '--name', 'a'])).code, 0);
    const file = join(folder, 'data/encryption.key');
    writeFileSync(file, `${Buffer.alloc(32, 1).toString('base64')}\n`);
    const { code, stderr } = await run(['serve', '--port', '0']);
    assert.equal(code, 1);
    assert.match(stderr, /^The store was encrypted with another key; [^\n]+previous_keys\.\n$/);
  });

  test('for a first key that cannot be used, without a word of it', async (context) => {
    const { folder, run } = program(context);
    const intact = (await run(['keys', 'create', '--name', 'a'])).stdout.trim();
    rmSync(join(folder, 'data'), { recursive: true });
    const secret = 'not-to-be-seen';
    const contents: [content: string | Buffer, reason: string][] = [
      [secret, 'must hold a key of 32 to 200 characters without spaces'],
      [`${secret} `.repeat(4), 'must hold a key of 32 to 200 characters without spaces'],
      [secret.repeat(15), 'must hold a key of 32 to 200 characters without spaces'],
      [
        `${intact.slice(0, -1)}${intact.endsWith('A') ? 'B' : 'A'}`,
        'holds a key of which characters are missing or changed',
      ],
      ['\n', 'is empty'],
      [Buffer.from([0xff, 0xfe]), 'is not text in UTF-8'],
      ['k'.repeat(65 * 1024), 'is larger than 64 KiB'],
    ];
    for (const [content, reason] of contents) {
      writeFileSync(join(folder, 'key'), content);
      const { code, stderr } = await run(['serve', '--port', '0'], { POLYGATE_FIRST_KEY_FILE: 'key' });
      assert.deepEqual([code, stderr], [1, `POLYGATE_FIRST_KEY_FILE: key ${reason}.\n`]);
    }
    const missing = await run(['serve', '--port', '0'], { POLYGATE_FIRST_KEY_FILE: 'none' });
    assert.deepEqual([missing.code, missing.stderr], [1, 'POLYGATE_FIRST_KEY_FILE: none does not exist.\n']);
    const other = await run(['serve', '--port', '0'], { POLYGATE_FIRST_KEY_FILE: '.' });
    assert.deepEqual([other.code, other.stderr], [1, 'POLYGATE_FIRST_KEY_FILE: . is not a regular file.\n']);
  });

  test('for a port that is none', async (context) => {
    const { code, stderr } = await program(context).run(['serve', '--port', 'http']);
    assert.equal(code, 1);
    assert.match(stderr, /A port is a number from 0 to 65535/);
  });
});

describe('a running gateway', () => {
  test('accepts a key made meanwhile and refuses it once revoked', async (context) => {
    const { run, start } = program(context);
    const gateway = start(['serve', '--port', '0']);
    const [, url = ''] = await gateway.shows(/listens on (\S+)/);
    await gateway.shows(/Ctrl-C stops it/);
    const key = (await run(['keys', 'create', '--name', 'later'])).stdout.trim();
    const giveUp = AbortSignal.timeout(10_000);
    while ((await echo(url, key)).status !== 200) giveUp.throwIfAborted();
    await run(['keys', 'revoke', 'later']);
    while ((await echo(url, key)).status !== 401) giveUp.throwIfAborted();
  });

  test('takes up a changed file, and keeps the old one when the new is invalid', async (context) => {
    const { folder, start } = program(context);
    const file = join(folder, 'polygate.yaml');
    writeFileSync(file, 'server: { port: 0 }\nkeys: [{ name: a, key: first-key-0123456789 }]\n');
    const gateway = start(['serve']);
    const [, url = ''] = await gateway.shows(/listens on (\S+)/);
    await gateway.shows(/Ctrl-C stops it/);

    writeFileSync(file, 'keys: [{ nme: a }]\n');
    await gateway.shows(
      /the configuration stays as it was: .*polygate\.yaml:1: keys\[0\]\.nme: unknown field/,
      'stderr',
    );
    assert.equal((await echo(url, 'first-key-0123456789')).status, 200);

    writeFileSync(file, 'server: { port: 0, body_limit: 1MiB }\nkeys: [{ name: a, key: second-key-0123456789 }]\n');
    await gateway.shows(/a restart is needed for server\.body_limit/, 'stderr');
    assert.equal((await echo(url, 'second-key-0123456789')).status, 200);
    assert.equal((await echo(url, 'first-key-0123456789')).status, 401);
  });

  test('reads its configuration from a variable, and secrets from files, again on SIGHUP', {
    skip: windows,
  }, async (context) => {
    const { folder, start } = program(context);
    const file = join(folder, 'key');
    const [key, next] = ['first-key-0123456789', 'second-key-0123456789'] as [string, string];
    writeFileSync(file, `${key}\n`);
    const gateway = start(['serve'], {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own reference
      POLYGATE_CONFIG: '\nserver: { port: 0 }\nkeys: [{ name: a, key: "${A_KEY}" }]\n',
      A_KEY_FILE: file,
    });
    const [, url = ''] = await gateway.shows(/listens on (\S+)[\s\S]*Ctrl-C/);
    assert.equal((await echo(url, key)).status, 200);
    rmSync(file);
    gateway.signal('SIGHUP');
    await gateway.shows(
      /the configuration stays as it was: POLYGATE_CONFIG:3: keys\[0\]\.key: A_KEY_FILE: .* does not exist/,
    );
    writeFileSync(file, next);
    gateway.signal('SIGHUP');
    await gateway.shows(/the configuration is reloaded/);
    assert.deepEqual([(await echo(url, key)).status, (await echo(url, next)).status], [401, 200]);
  });

  test('reloads on SIGHUP', { skip: windows }, async (context) => {
    const gateway = program(context).start(['serve', '--port', '0']);
    await gateway.shows(/Ctrl-C stops it/);
    gateway.signal('SIGHUP');
    await gateway.shows(/the configuration is reloaded/, 'stderr');
  });
});

describe('the end', { skip: windows }, () => {
  test('lets a running request finish', async (context) => {
    const gateway = program(context).start(['serve', '--port', '0']);
    const stream = await openStream(gateway, 'pause 50ms');
    gateway.signal('SIGINT');
    await gateway.shows(/Stopping once running requests are done/);
    assert.match(await text(stream), /data: \[DONE\]\n\n$/);
    assert.equal((await gateway.ended).code, 0);
  });

  test('begins with a time in which the gateway is not ready and still answers', async (context) => {
    const { folder, start } = program(context);
    const config = 'server: { port: 0, drain: 99m }\nkeys: [{ name: a, key: first-key-0123456789 }]\n';
    writeFileSync(join(folder, 'polygate.yaml'), config);
    const gateway = start(['serve']);
    const [, url = ''] = await gateway.shows(/listens on (\S+)[\s\S]*Ctrl-C/);
    assert.equal((await fetch(`${url}/readyz`)).status, 200);
    gateway.signal('SIGTERM');
    await gateway.shows(/Not ready any more; requests are accepted for 99m\.\n/);
    const unready = await fetch(`${url}/readyz`);
    assert.deepEqual(
      [unready.status, ((await unready.json()) as { reason: string }).reason],
      [503, 'The gateway is stopping.'],
    );
    assert.equal((await fetch(`${url}/healthz`)).status, 200);
    const answered = await echo(url, 'first-key-0123456789');
    assert.deepEqual([answered.status, answered.headers.get('connection')], [200, 'close']);
    const again = setInterval(() => gateway.signal('SIGTERM'), 50);
    context.after(() => clearInterval(again));
    assert.equal((await gateway.ended).code, 1);
  });

  test('after such a time is the usual one, of workers too; Ctrl-C ends without it', async (context) => {
    const { folder, start } = program(context);
    const yaml = (drain: string) => `server: { port: 0, workers: 2, drain: ${drain} }\n`;
    writeFileSync(join(folder, 'polygate.yaml'), yaml('3s'));
    const first = start(['serve']);
    const [, url = ''] = await first.shows(/listens on (\S+)[\s\S]*Ctrl-C/);
    first.signal('SIGTERM');
    await first.shows(/Not ready any more/);
    const giveUp = AbortSignal.timeout(10_000);
    while ((await fetch(`${url}/readyz`)).status !== 503) giveUp.throwIfAborted();
    assert.equal((await first.ended).code, 0);
    writeFileSync(join(folder, 'polygate.yaml'), yaml('99m'));
    const second = start(['serve']);
    await second.shows(/Ctrl-C stops it/);
    second.signal('SIGINT');
    const { code, stderr } = await second.ended;
    assert.deepEqual([code, stderr.includes('Not ready')], [0, false]);
  });

  test('lets requests finish from the first one on, also while workers start', async (context) => {
    const { folder, start } = program(context);
    const port = await freePort();
    writeFileSync(join(folder, 'polygate.yaml'), `server: { port: ${port}, workers: 2 }\n`);
    const gateway = start(['serve']);
    const giveUp = AbortSignal.timeout(20_000);
    const answers = () => fetch(`http://127.0.0.1:${port}/healthz`).then(Boolean, () => false);
    while (!(await answers())) giveUp.throwIfAborted();
    gateway.signal('SIGTERM');
    const { code, stderr } = await gateway.ended;
    assert.deepEqual([code, stderr.includes('Stopping once running requests are done')], [0, true], stderr);
  });

  test('comes at once with a second signal', async (context) => {
    const gateway = program(context).start(['serve', '--port', '0']);
    const stream = await openStream(gateway, 'hang after 2');
    const broken = assert.rejects(text(stream), { code: 'ECONNRESET' });
    gateway.signal('SIGTERM');
    await gateway.shows(/Stopping once running requests are done/);
    const again = setInterval(() => gateway.signal('SIGTERM'), 50);
    context.after(() => clearInterval(again));
    assert.equal((await gateway.ended).code, 1);
    await broken;
  });
});

/** A stream that has begun, on a connection of its own. */
async function openStream(gateway: Running, words: string): Promise<IncomingMessage> {
  const [, url = ''] = await gateway.shows(/listens on (\S+)/);
  const [key] = await gateway.shows(/sk-pg-[A-Za-z0-9_-]{49}/);
  await gateway.shows(/Ctrl-C stops it/);
  const request = post(`${url}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  });
  const messages = [{ role: 'user', content: words }];
  request.end(JSON.stringify({ model: 'sandbox/faulty', stream: true, messages }));
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  return response;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
