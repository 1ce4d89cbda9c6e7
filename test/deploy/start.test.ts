/** What a reader of docs/deploy.md types after the start, with the gateway started from the files of `deploy` as a program. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { createPages } from '../../src/http/ui/pages.ts';
import { program } from '../cli/program.ts';
import { openBrowser } from '../gateway/browser.ts';
import { providePostgres } from '../store/postgres-server.ts';
import { DEPLOY, deployText, deployYaml } from './deploy-files.ts';

const LINK = /^http:\/\/127\.0\.0\.1:(\d+)\/ui#code=([\w-]+)\n$/;

for (const name of ['compose.yaml', 'compose.sqlite.yaml']) {
  test(`${name}: health, a key, and a link to the dashboard that leads somewhere`, async (context) => {
    const { folder, run, start } = program(context);
    cpSync(join(DEPLOY, 'compose/init.sh'), join(folder, 'init.sh'));
    execFileSync('sh', [join(folder, 'init.sh')], { stdio: 'ignore' });
    const { environment, command } = deployYaml(`compose/${name}`).services.polygate;
    assert.equal(command, undefined);
    const [port, adminPort] = await freePorts();
    const inContainer = environment.POLYGATE_CONFIG.replace('/etc/polygate/', '');
    let config = replaced(deployText(`compose/config/${inContainer}`), 'port: 8081', `port: ${adminPort}`);
    if (name === 'compose.yaml') {
      const database = await providePostgres();
      context.after(database.close);
      const { username, password, host, pathname } = new URL(database.url);
      writeFileSync(join(folder, 'secrets/database_password'), decodeURIComponent(password));
      config = replaced(config, '//polygate:', `//${username}:`);
      config = replaced(config, '@postgres:5432/polygate', `@${host}${pathname}`);
    }
    writeFileSync(join(folder, 'polygate.yaml'), config);
    const variables = Object.fromEntries(
      Object.entries<string>(environment).map(([variable, value]) => [
        variable,
        value.replace('/run/secrets', join(folder, 'secrets')).replace(/^\/etc\/polygate\/.*/, 'polygate.yaml'),
      ]),
    );
    const [, ...arguments_] = JSON.parse(/^CMD (.*)$/m.exec(deployText('Containerfile'))?.[1] ?? '[]');
    const gateway = start(['serve', ...arguments_, '--port', String(port)], variables);
    await gateway.shows(/listens on/);
    const health = await run(['health', '--port', String(port)], variables);
    assert.equal(health.stdout, 'ready\n', health.stderr);
    assert.match((await run(['keys', 'create', '--name', 'apps'], variables)).stdout, /^sk-pg-\S+\n$/);
    await opens((await run(['login'], variables)).stdout, adminPort);
  });
}

test('the command of the systemd unit needs no variables, and takes those of the unit', {
  skip: process.platform === 'win32',
}, async (context) => {
  const { folder, start } = program(context);
  const path = (name: string) => join(folder, name);
  for (const name of ['bin', 'credentials']) mkdirSync(path(name));
  const main = process.env.POLYGATE_PROGRAM ?? join(import.meta.dirname, '../../src/main.ts');
  let command = replaced(
    deployText('systemd/polygate'),
    'exec node /opt/polygate/dist/main.js',
    `exec "${process.execPath}" "${main}"`,
  );
  command = replaced(command, '/etc/polygate/polygate.yaml', path('polygate.yaml'));
  command = replaced(command, '=/etc/polygate/credentials/encryption_key', `="${path('credentials/encryption_key')}"`);
  writeFileSync(path('bin/polygate'), command, { mode: 0o755 });
  const [port] = await freePorts();
  const config = replaced(deployText('systemd/polygate.yaml'), 'data: /var/lib/polygate', `data: ${path('data')}`);
  writeFileSync(path('polygate.yaml'), replaced(config, 'port: 8080', `port: ${port}`));
  writeFileSync(path('credentials/encryption_key'), Buffer.alloc(32, 1).toString('base64'));
  writeFileSync(path('of_unit'), Buffer.alloc(32, 1).toString('base64'));
  const { PATH } = process.env;
  const run = (args: string[], environment = {}) =>
    execFileSync(path('bin/polygate'), args, {
      cwd: path('bin'),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH, ...environment },
    });
  const gateway = start(['serve', '--config', path('polygate.yaml')], {
    POLYGATE_ENCRYPTION_KEY_FILE: path('of_unit'),
  });
  await gateway.shows(/listens on/);
  assert.match(run(['keys', 'create', '--name', 'apps']), /^sk-pg-\S+\n$/);
  await opens(run(['login']), port);
  writeFileSync(path('credentials/encryption_key'), 'not read where a variable is set');
  const own = { POLYGATE_ENCRYPTION_KEY_FILE: path('of_unit') };
  assert.match(run(['keys', 'secret', 'apps', '--rotate'], own), /whsec_/);
});

/** Follows the link as a browser does: to the page, where pages are built, and with the code behind # to a session of an operator. */
async function opens(output: string, port: number | undefined): Promise<void> {
  const [, linked, code] = LINK.exec(output) ?? [];
  assert.equal(Number(linked), port, output);
  const page = await fetch(output.trim());
  // Those of an earlier source are served, too.
  assert.equal(page.status, (await createPages().areBuilt()) ? 200 : 503, await page.text());
  const session = await openBrowser(new URL(output.trim()).origin).login({ code });
  assert.equal(session.json.data.role, 'admin');
}

/** Throws unless the text stands there exactly once. */
function replaced(text: string, from: string, to: string): string {
  const parts = text.split(from);
  assert.equal(parts.length, 2, from);
  return parts.join(to);
}

async function freePorts(): Promise<[number, number]> {
  const servers = [createServer().listen(0), createServer().listen(0)];
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port) as [number, number];
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
