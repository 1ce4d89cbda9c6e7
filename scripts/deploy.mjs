/**
 * `npm run test:deploy`: checks the files of `deploy` with the programs that they are for, and the image by building and
 * starting it. Installs what it can, and names what it lacks, which is a failure in CI. `npm run test:deploy -- WORD` runs
 * the checks with a word in their name; `--write` writes the renderings of the chart instead of comparing them.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkChart } from './deploy-chart.mjs';
import { checkCompletion } from './deploy-completion.mjs';
import { checkImage } from './deploy-image.mjs';
import { checkPolicy } from './deploy-policy.mjs';
import { checkPrometheus } from './deploy-prometheus.mjs';
import { findTools, run, runOrThrow } from './deploy-tools.mjs';
import { installPackages, nodeProgram, root, say } from './install.mjs';

const UNIT = join(root, 'deploy/systemd/polygate.service');
/** Ten times the exposure that systemd reckons. */
const MAX_EXPOSURE = 15;

/** By name: the programs that a check needs, and the check, which may return a word about itself. */
const CHECKS = {
  rules: { needs: ['promtool'], check: checkRules },
  chart: { needs: ['helm', 'kubernetes-validate', 'promtool'], check: checkChart },
  policy: { needs: ['checkov'], check: checkPolicy },
  unit: { needs: ['systemd-analyze'], check: checkUnit },
  compose: { needs: ['check-jsonschema'], check: checkCompose },
  completion: { needs: ['zsh', 'fish'], check: checkCompletion },
  containerfile: {
    needs: ['hadolint'],
    check: ({ tools }) => void runOrThrow(tools.hadolint, ['deploy/Containerfile'], { cwd: root }),
  },
  workflows: {
    needs: ['actionlint'],
    check: ({ tools }) => void runOrThrow(tools.actionlint, ['-color=false'], { cwd: root }),
  },
  prometheus: { needs: ['promtool', 'prometheus'], check: checkPrometheus },
  image: { needs: ['buildah', 'mmdebstrap'], root: true, check: checkImage },
};

const WRITE = '--write';
const words = process.argv.slice(2).filter((word) => word !== WRITE);
process.exitCode = await main();

async function main() {
  await installPackages(root, 'all', 'all packages');
  const node = realpathSync(await nodeProgram());
  const npmFolder = join(run('npm', ['root', '--global']).stdout.trim(), 'npm');
  const chosen = Object.entries(CHECKS).filter(
    ([name]) => words.length === 0 || words.some((word) => name.includes(word)),
  );
  const tools = findTools(new Set(chosen.flatMap(([, { needs }]) => needs)));
  let isFailed = chosen.length === 0;
  for (const [name, { needs, root: needsRoot, check }] of chosen) {
    const lacks = needs.filter((program) => !tools[program]);
    if (needsRoot && process.getuid?.() !== 0) lacks.push('root');
    if (lacks.length > 0) {
      say(`LACKS   ${name}: ${lacks.join(', ')}`);
      isFailed ||= process.env.CI !== undefined;
      continue;
    }
    const folder = mkdtempSync(join(tmpdir(), 'polygate-deploy-'));
    const begin = performance.now();
    try {
      const word = await check({ tools, node, npmFolder, folder, write: process.argv.includes(WRITE) });
      say(`ok      ${name}  ${((performance.now() - begin) / 1000).toFixed(1)} s${word ? `  ${word}` : ''}`);
    } catch (error) {
      isFailed = true;
      say(`FAILED  ${name}: ${error.message}`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return isFailed ? 1 : 0;
}

function checkRules({ tools }) {
  runOrThrow(tools.promtool, ['check', 'rules', join(root, 'deploy/prometheus/rules.yaml')]);
  runOrThrow(tools.promtool, ['test', 'rules', join(root, 'deploy/prometheus/rules.test.yaml')]);
}

/** By the schema of the Compose specification, which must refuse a misspelt field. */
function checkCompose({ tools, folder }) {
  const files = ['compose.yaml', 'compose.sqlite.yaml'].map((name) => join(root, 'deploy/compose', name));
  const validate = ['--builtin-schema', 'vendor.compose-spec'];
  runOrThrow(tools['check-jsonschema'], [...validate, ...files]);
  for (const file of files) {
    const misspelt = join(folder, 'misspelt.yaml');
    writeFileSync(misspelt, readFileSync(file, 'utf8').replaceAll('read_only:', 'readonly:'));
    const { code, output } = run(tools['check-jsonschema'], [...validate, misspelt]);
    assert.notEqual(code, 0, 'a misspelt field is accepted');
    assert.match(output, /readonly/);
  }
}

function checkUnit({ tools }) {
  const { output } = run(tools['systemd-analyze'], ['verify', UNIT]);
  // The program is not installed here.
  const problems = output.split('\n').filter((line) => line !== '' && !/is not executable: No such file/.test(line));
  assert.deepEqual(problems, []);
  const threshold = `--threshold=${MAX_EXPOSURE}`;
  const { output: report } = runOrThrow(tools['systemd-analyze'], [
    'security',
    '--offline=true',
    threshold,
    '--no-pager',
    UNIT,
  ]);
  return /exposure level for \S+: ([\d.]+)/.exec(report)?.[1];
}
