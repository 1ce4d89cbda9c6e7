/** Checks of the Helm chart: schemas of Kubernetes, committed renderings, and values that it must refuse. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { run, runOrThrow } from './deploy-tools.mjs';
import { root } from './install.mjs';

export const CHART = join(root, 'deploy/helm/polygate');
const CASES = join(root, 'test/deploy/chart');
const VALUES = '.values.yaml';
const RENDERED = '.rendered.yaml';
/** Helm takes another version for granted than the chart needs: the Go module lacks the one that its releases are built with. */
const KUBERNETES = '1.34.0';
/** Of other projects, without a schema here. */
const FOREIGN_KINDS = ['ServiceMonitor', 'PrometheusRule', 'HTTPRoute'];
/** Values by what the chart says against them. */
const REFUSED = {
  'config.sever.port=1': /sever/,
  'replicas=2': /PostgreSQL/,
  'database.existingSecret=s': /encryption\.existingSecret/,
  'metrics.serviceMonitor.enabled=true': /admin\.existingSecret/,
};
/** Characters of a line in a rendering; dashboards are one line each, and files of their own. */
const MAX_LINE = 400;

/** With `write`, renderings are written instead of compared. */
export function checkChart({ tools, folder, write }) {
  runOrThrow(tools.helm, ['lint', '--strict', '--kube-version', KUBERNETES, CHART]);
  const cases = readdirSync(CASES).filter((file) => file.endsWith(VALUES));
  const changed = [];
  let count = 0;
  for (const file of cases) {
    const rendered = renderChart(tools.helm, join(CASES, file));
    const objects = rendered.split(/^---$/m).filter((object) => /^kind:/m.test(object));
    count += objects.length;
    const own = objects.filter((object) => !FOREIGN_KINDS.includes(kindOf(object)));
    const manifest = join(folder, file);
    writeFileSync(manifest, own.join('---'));
    runOrThrow(tools['kubernetes-validate'], ['--strict', '--kubernetes-version', KUBERNETES, manifest]);
    for (const rules of objects.filter((object) => kindOf(object) === 'PrometheusRule')) {
      const rulesFile = `${manifest}.rules`;
      writeFileSync(rulesFile, JSON.stringify(parse(rules).spec));
      runOrThrow(tools.promtool, ['check', 'rules', rulesFile]);
    }
    const committed = join(CASES, file.replace(VALUES, RENDERED));
    const text = comparable(objects);
    if (existsSync(committed) && readFileSync(committed, 'utf8') === text) continue;
    if (write) writeFileSync(committed, text);
    else changed.push(difference(committed, { text, folder }));
  }
  const hint = 'The chart is rendered otherwise; "npm run test:deploy -- chart --write" writes the new renderings.';
  assert.equal(changed.join('\n'), '', `${hint}\n${changed.join('\n')}`);
  for (const [value, reason] of Object.entries(REFUSED)) {
    const { code, output } = template(tools.helm, ['--set', value]);
    assert.notEqual(code, 0, `${value} is accepted`);
    assert.match(output, reason);
  }
  runOrThrow(tools.helm, ['package', CHART, '--destination', folder]);
  assert.ok(readdirSync(folder).some((file) => file.endsWith('.tgz')));
  return `${count} objects`;
}

/** The manifests for a file of values. */
export function renderChart(helm, values) {
  const { code, output, stdout } = template(helm, ['--values', values]);
  assert.equal(code, 0, output);
  return stdout;
}

function template(helm, args) {
  return run(helm, ['template', 'test', CHART, '--kube-version', KUBERNETES, ...args]);
}

function kindOf(object) {
  return /^kind: (\w+)/m.exec(object)?.[1] ?? '';
}

/** Without what has files of its own (rules, dashboards) and without the version, which each release changes. */
function comparable(objects) {
  const [, version] = /^appVersion: (\S+)$/m.exec(readFileSync(join(CHART, 'Chart.yaml'), 'utf8'));
  return objects
    .map((object) =>
      kindOf(object) === 'PrometheusRule' ? `${object.slice(0, object.indexOf('groups:'))}groups: […]\n` : object,
    )
    .map((object) => object.replaceAll(version, 'VERSION'))
    .map((object) =>
      object
        .split('\n')
        .map((line) => (line.length > MAX_LINE ? `${line.slice(0, 60)}…` : line))
        .join('\n'),
    )
    .join('---');
}

function difference(committed, { text, folder }) {
  const fresh = join(folder, 'rendered.yaml');
  writeFileSync(fresh, text);
  return run('diff', ['--unified=2', committed, fresh]).output;
}
