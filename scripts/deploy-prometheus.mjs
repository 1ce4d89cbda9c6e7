/** Check with a real Prometheus: it scrapes a gateway that works, holds the rules, and answers every query of the dashboards. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort, untilReady } from './deploy-image.mjs';
import { runOrThrow } from './deploy-tools.mjs';
import { root } from './install.mjs';

const KEY = 'a-first-key-of-a-test-0123456789abcdef';
const TOKEN = 'an-admin-token-of-a-test-0123456789abcdef';
const SCRAPES_TIMEOUT_MS = 60_000;
/** Panels of what did not happen to this gateway. */
const QUIET =
  /fallbacks|cooldowns|cost_usd|endpoint_cooldown|last_backup|worker_restarts|outcome(=~|!=)|jobs_|video_tasks|webhook_attempts/;

export async function checkPrometheus({ tools, folder, node }) {
  const [port, prometheusPort] = [await freePort(), await freePort()];
  mkdirSync(join(folder, 'gateway'));
  const config = {
    server: { port },
    admin: { token: TOKEN, port: 0 },
    keys: [{ name: 'test', key: KEY, budgets: { day: '1.00' } }],
    telemetry: { budget_keys: ['test'] },
  };
  writeFileSync(join(folder, 'gateway', 'polygate.yaml'), JSON.stringify(config));
  writeFileSync(join(folder, 'token'), TOKEN);
  const scrape = readFileSync(join(root, 'deploy/compose/prometheus/prometheus.yml'), 'utf8')
    .replaceAll('15s', '1s')
    .replace('[rules.yaml]', `[${join(root, 'deploy/prometheus/rules.yaml')}]`)
    .replace('/run/secrets/admin_token', join(folder, 'token'))
    .replace('polygate:8080', `127.0.0.1:${port}`);
  writeFileSync(join(folder, 'prometheus.yml'), scrape);
  runOrThrow(tools.promtool, ['check', 'config', join(folder, 'prometheus.yml')]);
  const quiet = { stdio: 'ignore' };
  const gateway = spawn(node, [join(root, 'src/main.ts'), 'serve'], { cwd: join(folder, 'gateway'), ...quiet });
  const listen = `--web.listen-address=127.0.0.1:${prometheusPort}`;
  const storage = `--storage.tsdb.path=${join(folder, 'series')}`;
  const prometheus = spawn(
    tools.prometheus,
    [`--config.file=${join(folder, 'prometheus.yml')}`, storage, listen],
    quiet,
  );
  const ended = Promise.all([once(gateway, 'exit'), once(prometheus, 'exit')]);
  try {
    const url = `http://127.0.0.1:${port}`;
    await untilReady(url, () => 'the gateway does not become ready');
    await checkMetrics(tools.promtool, url);
    return await askAll(`http://127.0.0.1:${prometheusPort}`, () => work(url));
  } finally {
    gateway.kill('SIGTERM');
    prometheus.kill('SIGTERM');
    await ended;
  }
}

async function checkMetrics(promtool, url) {
  const text = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).text();
  runOrThrow(promtool, ['check', 'metrics'], { input: text });
}

async function work(url) {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] });
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
  assert.equal(response.status, 200, await response.text());
}

async function askAll(base, work) {
  const open = new Map(queries().map((query) => [query, 'not asked']));
  const all = open.size;
  for (const end = Date.now() + SCRAPES_TIMEOUT_MS; open.size > 0 && Date.now() < end; await pause(500)) {
    await work();
    for (const query of open.keys()) {
      const answer = await ask(base, query);
      if (answer.length > 0) open.delete(query);
      else open.set(query, 'no data');
    }
    for (const query of open.keys()) if (QUIET.test(query) && open.get(query) === 'no data') open.delete(query);
  }
  assert.deepEqual([...open], [], 'queries without data');
  const { data } = await (await fetch(`${base}/api/v1/rules`)).json();
  const rules = data.groups.flatMap((group) => group.rules);
  assert.ok(rules.length > 10);
  assert.deepEqual(
    rules.filter(({ health }) => health === 'err'),
    [],
  );
  const firing = rules.filter(({ state }) => state === 'firing').map(({ name }) => name);
  assert.deepEqual(firing, [], 'alerts of a gateway that is well');
  return `${all} queries, ${rules.length} rules`;
}

async function ask(base, query) {
  const response = await fetch(`${base}/api/v1/query?${new URLSearchParams({ query })}`).catch(() => undefined);
  if (!response) return [];
  const { status, error, data } = await response.json();
  assert.equal(status, 'success', `${query}: ${error}`);
  return data.result;
}

/** With the variables of the dashboards in place. */
function queries() {
  const folder = join(root, 'deploy/grafana');
  return readdirSync(folder).flatMap((file) => {
    const { panels } = JSON.parse(readFileSync(join(folder, file), 'utf8'));
    return panels.flatMap(({ targets }) =>
      targets.map(({ expr }) =>
        expr.replaceAll('$__rate_interval', '30s').replaceAll('"$job"', '".*"').replaceAll('"$provider"', '".*"'),
      ),
    );
  });
}
