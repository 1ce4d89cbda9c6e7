/** `polygate login`: a link beside a running gateway, on both engines. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { openBrowser } from '../gateway/browser.ts';
import { providePostgres } from '../store/postgres-server.ts';
import { program } from './program.ts';

const LINK = /(http:\S+)\/ui(?:\/setup)?#code=(\S+)/;

for (const engine of ['sqlite', 'postgres']) {
  test(`opens a session of a running gateway (${engine})`, async (context) => {
    const database = engine === 'postgres' ? await providePostgres() : undefined;
    if (database) context.after(database.close);
    const { folder, run, start } = program(context);
    writeFileSync(join(folder, 'polygate.yaml'), `${database ? `data: ${database.url}` : ''}\nserver: { port: 0 }\n`);
    const gateway = start(['serve']);
    const [, url = '', first = ''] = await gateway.shows(LINK);
    assert.equal((await openBrowser(url).login({ code: first })).json.data.role, 'admin');
    assert.equal((await openBrowser(url).login({ code: first })).status, 401);
    for (const role of ['admin', 'viewer']) {
      const { stdout } = await run(['login', '--url', url, ...(role === 'viewer' ? ['--viewer'] : [])]);
      const [, base, code] = LINK.exec(stdout) ?? [];
      assert.equal(base, url);
      assert.equal((await openBrowser(url).login({ code })).json.data.role, role);
    }
    const { stdout } = await run(['audit', '--json']);
    const authors = JSON.parse(stdout).flatMap((entry: { action: string; actor: string }) =>
      entry.action === 'login.link' ? [entry.actor] : [],
    );
    assert.deepEqual(authors, ['command line', 'command line', 'gateway']);
  });
}

test('later starts say where the dashboard is, and by which command one comes in', async (context) => {
  const { run, start } = program(context);
  await run(['keys', 'create', '--name', 'a']);
  const gateway = start(['serve', '--port', '0']);
  const [, url = '', command = ''] = await gateway.shows(/dashboard is at (http:\S+)\/ui: "polygate ([^"]+)"/);
  const { stdout, stderr: hints } = await run(command.split(' '));
  assert.doesNotMatch(hints, /Warning/);
  const [, base, code] = LINK.exec(stdout) ?? [];
  assert.equal(base, url);
  assert.equal((await openBrowser(url).login({ code })).json.data.role, 'admin');
  const { stdout: elsewhere, stderr } = await run(['login', '--port', '1']);
  assert.match(elsewhere, /^http:\/\/127\.0\.0\.1:1\/ui#/, 'a gateway may start later');
  assert.match(stderr, /Warning: no gateway answers at http:\/\/127\.0\.0\.1:1 \(connect ECONNREFUSED[^\n]+--port/);
});

describe('a link', () => {
  const run = async (context: TestContext, yaml: string, args: string[] = []) => {
    const { folder, run: command } = program(context);
    writeFileSync(join(folder, 'polygate.yaml'), yaml);
    await command(['keys', 'create', '--name', 'a']);
    return command(['login', ...args]);
  };

  test('leads to the address that browsers reach', async (context) => {
    const token = 'admin: { token: 0123456789abcdef0123456789abcdef';
    const away = 'server: { public_url: https://gw.example.com }';
    assert.match((await run(context, '')).stdout, /^http:\/\/127\.0\.0\.1:8080\/ui#code=[\w-]{43}\n$/);
    assert.match((await run(context, '', ['--port', '9000'])).stdout, /^http:\/\/127\.0\.0\.1:9000\/ui#/);
    assert.match((await run(context, `${away}\n${token} }`)).stdout, /^http:\/\/127\.0\.0\.1:8081\/ui#/);
    const admin = `${away}\n${token}, public_url: https://admin.example.com }`;
    assert.match((await run(context, admin)).stdout, /^https:\/\/admin\.example\.com\/ui#/);
    const both = await run(context, `${away}\nui: { admin_on_public: true }`, ['--json']);
    assert.match(JSON.parse(both.stdout).url, /^https:\/\/gw\.example\.com\/ui#/);
  });

  test('is not made where it would lead nowhere', async (context) => {
    assert.match(
      (await run(context, 'server: { host: 0.0.0.0 }')).stderr,
      /^Operators have no dashboard: .*admin\.token/,
    );
    assert.match((await run(context, 'ui: { enabled: false }')).stderr, /ui\.enabled is false/);
    assert.match((await run(context, 'server: { port: 0 }')).stderr, /name its address with --url/);
    for (const url of ['gateway.example.com', 'ftp://gateway.example.com']) {
      const { code, stdout, stderr } = await run(context, '', ['--url', url]);
      assert.deepEqual([code, stdout, /^--url is the address of the dashboard/.test(stderr)], [1, '', true], stderr);
    }
  });
});
