/** Workflows of the repository: few permissions, pinned actions, no cache and no stored secrets in the release. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import type { Json } from '../../src/core/json/json.ts';
import { ROOT } from '../docs/markdown.ts';

const FOLDER = join(ROOT, '.github/workflows');
const scripts: Record<string, string> = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).scripts;

for (const file of readdirSync(FOLDER)) {
  describe(file, () => {
    const text = readFileSync(join(FOLDER, file), 'utf8');
    const workflow: Json = parse(text);
    const jobs = Object.entries<Json>(workflow.jobs);
    const steps = jobs.flatMap(([, job]) => job.steps as Json[]);

    test('each job says what it may do, and how long it may take', () => {
      assert.deepEqual(workflow.permissions, {});
      for (const [name, job] of jobs) {
        assert.ok(job.permissions, name);
        assert.ok(job['timeout-minutes'] <= 120, name);
      }
    });

    test('actions are pinned by commit, and leave no credentials behind', () => {
      for (const { uses, with: options } of steps.filter((step) => step.uses)) {
        assert.match(uses, /@[0-9a-f]{40}$/);
        if (uses.startsWith('actions/checkout@')) assert.equal(options['persist-credentials'], false);
        if (uses.startsWith('actions/setup-node@')) assert.equal(options['package-manager-cache'], false);
      }
      assert.doesNotMatch(text, /actions\/cache|secrets\./);
    });

    test('the scripts that it runs exist', () => {
      for (const { run = '' } of steps) {
        for (const [, name = ''] of run.matchAll(/npm run ([\w:]+)/g)) assert.ok(name in scripts, name);
      }
    });
  });
}

test('a release is built on base images by digest, the same for both architectures, and has a variant with a shell', () => {
  const { jobs } = parse(readFileSync(join(FOLDER, 'release.yml'), 'utf8'));
  const containerfile = readFileSync(join(ROOT, 'deploy/Containerfile'), 'utf8');
  const names = [...containerfile.matchAll(/^ARG (\w*_IMAGE)=\S+$/gm)].map(([, name = '']) => name);
  assert.deepEqual(names, ['NODE_IMAGE', 'BASE_IMAGE', 'DEBUG_BASE_IMAGE']);
  const find = jobs.bases.steps.find(({ id }: Json) => id === 'bases').run;
  for (const name of names) assert.ok(find.includes(`$(image ${name})`), name);
  const { env, run } = jobs.image.steps.find((step: Json) => step.run);
  for (const [name, output] of Object.entries({ NODE_IMAGE: 'node', BASE_IMAGE: 'base', DEBUG_BASE_IMAGE: 'debug' }))
    assert.equal(env[name], `\${{ needs.bases.outputs.${output} }}`);
  assert.match(run, /^build "" "\$BASE_IMAGE"\nbuild -debug "\$DEBUG_BASE_IMAGE"$/m);
  const bot = JSON.parse(readFileSync(join(ROOT, '.github/renovate.json'), 'utf8'));
  assert.ok(bot.extends.includes('docker:pinDigests') && bot.enabledManagers.includes('dockerfile'));
});

test('the chart of a release names its image: what is replaced stands in the values, and is looked for afterwards', () => {
  const { jobs } = parse(readFileSync(join(FOLDER, 'release.yml'), 'utf8'));
  const { run } = jobs.registry.steps.find((step: Json) => step.run);
  const values = readFileSync(join(ROOT, 'deploy/helm/polygate/values.yaml'), 'utf8').split('\n');
  const patterns = [...run.matchAll(/s\|\^([^|]+)\$\|([^|]+)\|/g)];
  assert.equal(patterns.length, 2);
  for (const [, pattern = '', made = ''] of patterns) {
    const line = pattern.replaceAll('\\"', '"');
    assert.equal(values.filter((one) => one === line).length, 1, line);
    const after = run.slice(run.indexOf('deploy/helm/polygate/values.yaml\n'), run.indexOf('helm package'));
    assert.match(after, new RegExp(`grep --quiet --line-regexp .*${made.split(':')[0]}: `), made);
  }
});

test('a release is refused without the repository in both manifests, and its page has the commands that verify it', () => {
  const { jobs } = parse(readFileSync(join(FOLDER, 'release.yml'), 'utf8'));
  const check = jobs.checks.steps.find(({ name = '' }: Json) => name.startsWith('The tag')).run;
  assert.match(check, /for manifest in package\.json packages\/webhooks\/package\.json; do/);
  assert.match(check, /repository\.url must be .*\n\s*exit 1/);
  const page = jobs.page.steps.find((step: Json) => step.run).run;
  const guide = readFileSync(join(ROOT, 'SECURITY.md'), 'utf8');
  for (const command of ['sha256sum --check SHA256SUMS', 'npm audit signatures']) {
    assert.ok(page.includes(command), command);
    assert.ok(guide.includes(command), command);
  }
  for (const signed of ['IMAGE:VERSION', 'IMAGE:VERSION-debug', 'IMAGE/charts/polygate:VERSION']) {
    const onPage = `cosign verify $${signed.replace('VERSION', `\${TAG#v}`)} $identity`;
    assert.ok(page.includes(onPage), onPage);
    const documented = `cosign verify "$${signed.replace('VERSION', '$VERSION')}" $identity`;
    assert.ok(guide.includes(documented), documented);
  }
});

test('a release is ready within 500 ms of its start', () => {
  const { jobs } = parse(readFileSync(join(FOLDER, 'release.yml'), 'utf8'));
  const checks = jobs.checks.steps.find(({ run }: Json) => run === 'bash .ci/run');
  assert.equal(checks.env.READY_WITHIN_MS, '500');
  assert.match(readFileSync(join(ROOT, 'scripts/package.mjs'), 'utf8'), /process\.env\.READY_WITHIN_MS/);
});

test('an image that is too large to download is not released', () => {
  const { jobs } = parse(readFileSync(join(FOLDER, 'release.yml'), 'utf8'));
  const steps: Json[] = jobs.image.steps;
  const built = steps.findIndex(({ run = '' }) => run.includes('docker buildx build'));
  const measured = steps.findIndex(
    ({ env, run = '' }) => env?.MAX_BYTES && run.includes('test "$size" -le "$MAX_BYTES"'),
  );
  assert.ok(built >= 0 && measured > built);
  assert.equal(steps[measured].env.MAX_BYTES, 65_000_000);
  assert.deepEqual([jobs.registry.needs].flat().includes('image'), true);
});

test('an image that a second build does not repeat, or with what should not be in it, is not released', () => {
  const { jobs } = parse(readFileSync(join(FOLDER, 'release.yml'), 'utf8'));
  const steps: Json[] = jobs.image.steps;
  const built = steps.findIndex(({ run = '' }) => run.includes('docker buildx build'));
  const { run: build } = steps[built];
  assert.match(build, /SOURCE_DATE_EPOCH="\$\(git log -1 --format=%ct\)"/);
  assert.match(build, /^made "\$BASE_IMAGE" --no-cache .*rewrite-timestamp=true"$/m);
  assert.equal(build.match(/docker buildx build/g).length, 1, 'both builds have the same arguments');
  const { run: compared } = steps[built + 1];
  assert.match(compared, /^test "\$published" = "\$\(jq --raw-output \.config\.digest/m);
  assert.match(compared, /scripts\/image-contents\.mjs root config\.json$/m);
  for (const { run = '' } of steps.slice(built + 2)) assert.doesNotMatch(run, /push=true|imagetools create/);
  assert.ok(jobs.registry.steps.some(({ run = '' }: Json) => run.includes('imagetools create')));
});

test('only what is checked is published, and only with approval', () => {
  const { jobs } = parse(readFileSync(join(FOLDER, 'release.yml'), 'utf8'));
  const isAfterChecks = (name: string): boolean =>
    name === 'checks' || [jobs[name].needs ?? []].flat().some((needed: string) => isAfterChecks(needed));
  for (const [name, { environment, permissions }] of Object.entries<Json>(jobs)) {
    assert.ok(isAfterChecks(name), name);
    if (permissions.packages === 'write' || permissions['id-token'] === 'write')
      assert.equal(environment, 'release', name);
  }
});
