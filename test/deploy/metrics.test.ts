/** Rules and dashboards ask for metrics that a gateway has, by labels that they have; each alert leads to its section. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERRORS, type ErrorCode } from '../../src/core/errors.ts';
import { anchors, tableRows } from '../docs/markdown.ts';
import { startTestGateway } from '../gateway/harness.ts';
import { alerts, dashboards, deployText, deployYaml } from './deploy-files.ts';

/** Of a gateway with workers alone. */
const WORKER_METRICS = ['polygate_workers', 'polygate_worker_restarts_total'];
/** What Prometheus itself adds. */
const SCRAPE_METRICS = ['up'];
const SCRAPE_LABELS = ['job', 'instance'];

const METRIC = /\b(?:polygate|nodejs|process)_[a-z0-9_]+\b|\bup\b/g;
const HISTOGRAM_PART = /_(?:bucket|sum|count)$/;

async function metricsOfGateway(): Promise<Set<string>> {
  const gateway = await startTestGateway('telemetry: { budget_keys: [test] }');
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  await gateway.close();
  return new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name));
}

/** Labels by metric, as docs/telemetry.md has them. */
function documentedLabels(): Map<string, string[]> {
  const rows = tableRows('docs/telemetry.md').filter(([name = '']) => name.startsWith('`polygate_'));
  return new Map(
    rows.map(([name = '', labels = '']) => [
      name.replaceAll('`', ''),
      [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label),
    ]),
  );
}

function metricsIn(expression: string): string[] {
  return (expression.match(METRIC) ?? []).map((name) => name.replace(HISTOGRAM_PART, ''));
}

test('a gateway has every metric that a rule or a dashboard asks for, and the documents list its own', async () => {
  const known = await metricsOfGateway();
  const documented = documentedLabels();
  const expressions = [
    ...alerts().map(({ expression }) => expression),
    ...dashboards().flatMap((one) => one.expressions),
  ];
  assert.ok(expressions.length > 40);
  for (const expression of expressions) {
    assert.ok(metricsIn(expression).length > 0, expression);
    for (const name of metricsIn(expression)) {
      const exists = known.has(name) || WORKER_METRICS.includes(name) || SCRAPE_METRICS.includes(name);
      assert.ok(exists, `${name} in ${expression}`);
    }
  }
  const own = [...known].filter((name) => name.startsWith('polygate_'));
  assert.deepEqual([...documented.keys()].sort(), [...own, ...WORKER_METRICS].sort());
});

test('rules and dashboards use labels that their metrics have', () => {
  const documented = documentedLabels();
  for (const expression of [
    ...alerts().map((alert) => alert.expression),
    ...dashboards().flatMap((dashboard) => dashboard.expressions),
  ]) {
    const names = metricsIn(expression);
    const allowed = new Set([...SCRAPE_LABELS, 'le', ...names.flatMap((name) => documented.get(name) ?? [])]);
    const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/));
    const selected = [...expression.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label = '']) => label);
    for (const label of [...grouped, ...selected]) assert.ok(allowed.has(label), `${label} in ${expression}`);
  }
});

test('failed attempts are those that the provider is at fault for, in the alert and in its panel', () => {
  /** A model that is listed, and no longer there. */
  const others: ErrorCode[] = ['model_not_found'];
  const ofClients: ErrorCode[] = ['request_timeout'];
  const retryable = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => ERRORS[code].retryable);
  const faults = [...retryable.filter((code) => !ofClients.includes(code)), ...others].sort();
  assert.ok(faults.includes('overloaded') && !faults.includes('invalid_request'));
  const [panel] = dashboards()
    .flatMap(({ content }) => content.panels)
    .filter(({ title }) => title === 'Share of failed attempts');
  const [alert] = alerts().filter(({ name }) => name === 'PolygateProviderErrors');
  for (const expression of [alert?.expression, panel.targets[0].expr]) {
    const [, outcomes = ''] = /outcome=~"([^"]*)"/.exec(expression) ?? [];
    assert.deepEqual(outcomes.split('|'), faults, expression);
  }
});

test('each alert has a section in the runbook and a test, and each section and test an alert', () => {
  const names = alerts().map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  const sections = anchors('docs/runbook.md').filter((anchor) => anchor.startsWith('polygate'));
  assert.deepEqual(sections.sort(), names.map((name) => name.toLowerCase()).sort());
  for (const { name, annotations } of alerts()) {
    assert.equal(annotations.runbook_url, `docs/runbook.md#${name.toLowerCase()}`);
    assert.ok(annotations.summary, name);
  }
  const tested = deployYaml('prometheus/rules.test.yaml').tests.map(({ name }: { name: string }) => name);
  assert.deepEqual(tested.sort(), [...names].sort());
});

test('each dashboard uses its variables, its panels stand beside each other, and no identifier is used twice', () => {
  const all = dashboards();
  assert.deepEqual(all.map(({ content }) => content.title).sort(), [
    'Polygate: Operations',
    'Polygate: Overview',
    'Polygate: Providers',
  ]);
  assert.equal(new Set(all.map(({ content }) => content.uid)).size, all.length);
  for (const { file, content } of all) {
    const text = deployText(`grafana/${file}`);
    for (const { name } of content.templating.list)
      assert.match(text, new RegExp(`\\$\\{?${name}\\b`), `${file}: ${name}`);
    const taken = new Set<string>();
    for (const { gridPos, datasource } of content.panels) {
      assert.equal(datasource.uid, `\${datasource}`);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        assert.ok(x < 24, file);
        assert.ok(!taken.has(`${x} ${gridPos.y}`), `${file}: panels overlap`);
        taken.add(`${x} ${gridPos.y}`);
      }
    }
    const ids = content.panels.map(({ id }: { id: number }) => id);
    assert.equal(new Set(ids).size, ids.length);
  }
});
