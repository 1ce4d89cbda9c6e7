/** Files of `deploy` as far as text can tell: configurations are valid, and secrets, variables and versions fit together. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { readFirstKey } from '../../src/cli/first-key.ts';
import { type Machine, startWarnings } from '../../src/cli/start-warnings.ts';
import { servesOperators } from '../../src/config/dashboard.ts';
import { parseConfig } from '../../src/config/load.ts';
import type { Json } from '../../src/core/json/json.ts';
import { version } from '../../src/core/version.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { textOf } from '../docs/markdown.ts';
import { alerts, DEPLOY, dashboards, deployText, deployYaml } from './deploy-files.ts';

const KEY = Buffer.alloc(32, 1).toString('base64');
const TOKEN = 'a-token-of-a-test-0123456789abcdef';
/** Without what the machine of the test has, such as a proxy. */
const MACHINE: Machine = { platform: 'linux', uid: 0, isContainer: false };
const VALUES_SCHEMA = 'helm/polygate/values.schema.json';

describe('compose', () => {
  let folder = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'polygate-compose-'));
    cpSync(join(DEPLOY, 'compose/init.sh'), join(folder, 'init.sh'));
    init();
  });
  after(() => rmSync(folder, { recursive: true }));
  const init = () => execFileSync('sh', [join(folder, 'init.sh')], { encoding: 'utf8' });
  const secret = (name: string) => join(folder, 'secrets', name);

  test('secrets are made once, in a private folder; they are all that the files ask for', () => {
    const names = readdirSync(join(folder, 'secrets')).sort();
    assert.equal(statSync(join(folder, 'secrets')).mode & 0o777, 0o700);
    const before = names.map((name) => readFileSync(secret(name), 'utf8'));
    assert.equal(new Set(before).size, names.length);
    init();
    assert.deepEqual(
      names.map((name) => readFileSync(secret(name), 'utf8')),
      before,
    );
    assert.deepEqual(names, Object.keys(deployYaml('compose/compose.yaml').secrets).sort());
    for (const file of ['compose/compose.yaml', 'compose/compose.sqlite.yaml']) {
      const { secrets, services } = deployYaml(file);
      for (const [name, { file: path }] of Object.entries<Json>(secrets)) assert.equal(path, `./secrets/${name}`);
      for (const service of Object.values<Json>(services)) {
        for (const name of service.secrets ?? []) assert.ok(name in secrets, name);
        for (const [variable, path] of Object.entries<string>(service.environment ?? {})) {
          if (!/_FILE$/.test(variable)) continue;
          assert.ok(service.secrets.includes(path.replace('/run/secrets/', '')), variable);
        }
      }
    }
  });

  test('the configuration is valid with these secrets, and nothing is missing', () => {
    const { environment } = deployYaml('compose/compose.yaml').services.polygate;
    const local = Object.fromEntries(
      Object.entries<string>(environment).map(([name, value]) => [
        name,
        value.replace('/run/secrets', join(folder, 'secrets')),
      ]),
    );
    const text = deployText('compose/config/polygate.yaml');
    const config = parseConfig(text, { environment: local, known: providerTypes });
    const url = new URL(config.postgres?.reveal() ?? '');
    assert.deepEqual([url.hostname, url.password], ['postgres', readFileSync(secret('database_password'), 'utf8')]);
    assert.ok('postgres' in deployYaml('compose/compose.yaml').services);
    assert.ok((readFirstKey(local)?.length ?? 0) >= 32);
    assert.equal(config.server.host, '0.0.0.0');
  });

  test('operators have a dashboard, on a port that is published on loopback', () => {
    for (const { name, ports, config } of waysInContainers()) {
      const { server, ui, admin } = parseConfig(config, {
        environment: { POLYGATE_DATABASE_PASSWORD: 'p', POLYGATE_ENCRYPTION_KEY: KEY, POLYGATE_ADMIN_TOKEN: TOKEN },
        known: providerTypes,
      });
      assert.ok(!servesOperators({ server, ui }), name);
      assert.equal(admin?.host, '0.0.0.0', name);
      assert.ok(ports.includes(`127.0.0.1:${admin?.port}:${admin?.port}`), name);
      assert.match(deployText('Containerfile'), new RegExp(`^EXPOSE .*\\b${admin?.port}$`, 'm'));
    }
  });

  test('the gateway reaches servers of models on the machine by the name that the page has', () => {
    const name = 'host.docker.internal:host-gateway';
    for (const file of ['compose/compose.yaml', 'compose/compose.sqlite.yaml'])
      assert.deepEqual(deployYaml(file).services.polygate.extra_hosts, [name], file);
    assert.ok(readFileSync(join(DEPLOY, '../docs/deploy.md'), 'utf8').includes(`--add-host ${name}`));
  });

  test('every service is bound: a read-only root, no capabilities but those of the database, ports of this machine alone', () => {
    for (const file of ['compose/compose.yaml', 'compose/compose.sqlite.yaml']) {
      for (const [name, service] of Object.entries<Json>(deployYaml(file).services)) {
        assert.equal(service.read_only, true, name);
        assert.deepEqual(service.cap_drop, ['ALL'], name);
        assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name);
        assert.equal(service.cap_add === undefined, name !== 'postgres', name);
        for (const port of service.ports ?? []) assert.match(port, /^127\.0\.0\.1:/);
        if (name === 'polygate') assert.equal(service.stop_grace_period, '45s');
      }
    }
  });
});

/** Name, published ports, and configuration of each way to run the gateway in a container that docs/deploy.md has. */
function waysInContainers(): { name: string; ports: string[]; config: string }[] {
  const composed = ['compose/compose.yaml', 'compose/compose.sqlite.yaml'].map((name) => {
    const { ports, environment, volumes } = deployYaml(name).services.polygate;
    const [, file] = /^\/etc\/polygate\/(\S+)$/.exec(environment.POLYGATE_CONFIG) ?? [];
    assert.ok(volumes.includes('./config:/etc/polygate:ro'), name);
    return { name, ports, config: deployText(`compose/config/${file}`) };
  });
  const [command = ''] = /^docker run .*$/m.exec(textOf('docs/deploy.md')) ?? [];
  const ports = [...command.matchAll(/--publish (\S+)/g)].map(([, port = '']) => port);
  const [, config = ''] = /POLYGATE_CONFIG='([^']+)'/.exec(command) ?? [];
  return [...composed, { name: 'docker run', ports, config }];
}

describe('the chart', () => {
  test('its schema has the values that there are', () => {
    const { global: _, ...properties } = JSON.parse(deployText(VALUES_SCHEMA)).properties;
    const values = deployYaml('helm/polygate/values.yaml');
    assert.deepEqual(Object.keys(properties).sort(), Object.keys(values).sort());
    for (const [name, { properties: members }] of Object.entries<Json>(properties)) {
      if (members && name !== 'config')
        assert.deepEqual(Object.keys(members).sort(), Object.keys(values[name]).sort(), name);
    }
  });

  test('an ingress lets pass what the gateway takes, as long as it may take', () => {
    const { annotations } = deployYaml('helm/polygate/values.yaml').ingress;
    const { server } = parseConfig('', { environment: {}, known: providerTypes });
    const nginx = (name: string) => annotations[`nginx.ingress.kubernetes.io/${name}`];
    assert.deepEqual([nginx('proxy-buffering'), nginx('proxy-request-buffering')], ['off', 'off']);
    for (const timeout of [nginx('proxy-read-timeout'), nginx('proxy-send-timeout')])
      assert.equal(Number(timeout) * 1000, server.deadlines.total);
    assert.equal(nginx('proxy-body-size'), `${server.bodyLimit / 2 ** 20}m`);
  });

  test('it has the rules and the dashboards: a chart is packed from its own folder, so they are copies', () => {
    const inChart = readdirSync(join(DEPLOY, 'helm/polygate/files/dashboards')).sort();
    assert.deepEqual(
      inChart,
      dashboards()
        .map(({ file }) => file)
        .sort(),
    );
    const copies = inChart.map((file) => [`grafana/${file}`, `dashboards/${file}`]);
    for (const [source = '', copy = ''] of [...copies, ['prometheus/rules.yaml', 'rules.yaml']])
      assert.ok(
        deployText(source) === deployText(`helm/polygate/files/${copy}`),
        `copy deploy/${source} to files/${copy}`,
      );
  });

  test('with autoscaling, its alert on missing replicas asks for those that are wanted', () => {
    const template = deployText('helm/polygate/templates/monitoring.yaml');
    const replaced = [...template.matchAll(/\$rules \| replace `([^`]+)`/g)].map(([, text = '']) => text);
    assert.equal(replaced.length, 2);
    for (const text of replaced) {
      const found = alerts().filter(({ expression }) => expression.includes(text));
      assert.deepEqual(
        found.map(({ name }) => name),
        ['PolygateReplicasMissing'],
        text,
      );
    }
  });

  test('it is of the version of the gateway', () => {
    assert.equal(deployYaml('helm/polygate/Chart.yaml').appVersion, version);
  });
});

describe('systemd', () => {
  test('the configuration is valid with the credential of the unit', () => {
    const unit = deployText('systemd/polygate.service');
    const variables = [...unit.matchAll(/^Environment=(\w+)_FILE=%d\/(\w+)$/gm)];
    assert.deepEqual(
      variables.map(([, , credential]) => credential),
      [...unit.matchAll(/^LoadCredential=(\w+):/gm)].map(([, credential]) => credential),
    );
    const examples = [...unit.matchAll(/^#LoadCredential=(\w+):\S+\/(\w+)\n#Environment=(\w+)_FILE=%d\/(\w+)$/gm)];
    assert.ok(examples.length > 0);
    for (const [, credential, file, variable, member] of examples) {
      assert.deepEqual([file, member], [credential, credential]);
      assert.match(deployText('systemd/environment'), new RegExp(`^#${variable}=$`, 'm'));
    }
    const environment = Object.fromEntries(
      variables.map(([, name = '']) => [name, Buffer.alloc(32, 1).toString('base64')]),
    );
    const config = parseConfig(deployText('systemd/polygate.yaml'), { environment, known: providerTypes });
    assert.equal(config.data, '/var/lib/polygate');
    assert.match(unit, /^StateDirectory=polygate$/m);
    for (const warning of startWarnings(config, MACHINE)) assert.match(warning, /root/);
  });

  test('the gateway gets more time than a graceful shutdown takes', () => {
    assert.match(deployText('systemd/polygate.service'), /^TimeoutStopSec=45s$/m);
  });
});

test('the image and the unit of systemd bound the memory that threads keep', () => {
  assert.match(deployText('Containerfile'), /^ENV .*\bMALLOC_ARENA_MAX=2$/m);
  assert.match(deployText('systemd/polygate.service'), /^Environment=MALLOC_ARENA_MAX=2$/m);
});

test('the image runs the program as no known user, and every way gives the same time for a stop', () => {
  const text = deployText('Containerfile');
  for (const line of [
    'USER 65532:65532',
    'STOPSIGNAL SIGTERM',
    'ENTRYPOINT ["/usr/local/bin/node", "/app/dist/main.js"]',
    'VOLUME /var/lib/polygate',
  ]) {
    assert.ok(text.split('\n').includes(line), line);
  }
  assert.equal(deployYaml('helm/polygate/values.yaml').terminationGracePeriodSeconds, 45);
});
