/** Check of the files of `deploy` against checkov's policies: what they object to is in a list here, with the reason. */

import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './deploy-tools.mjs';
import { root } from './install.mjs';

/** Policies that a file does not follow, by id. */
const EXCEPTIONS = {
  CKV_DOCKER_7: 'The base images are arguments, with versions; a release gives their digests.',
  CKV_K8S_11: 'A limit of processor time would hold streams up while others leave it idle; memory is limited.',
  CKV_K8S_15: 'A version of the image never changes, so that one which is there is the right one.',
  CKV_K8S_21: 'The namespace is that of the installation.',
  CKV_K8S_35: 'Variables are what the configuration names; no shell or other program is in the image to show them.',
  CKV_K8S_43: 'The published chart has the digest of its image; the one here is for any image.',
  CKV2_K8S_6: 'The network policy is an option, because it needs the names of namespaces.',
};

/** The renderings of the chart are the committed ones, which the check `chart` compares. */
export function checkPolicy({ tools, folder }) {
  const source = join(folder, 'source');
  const renderings = join(root, 'test/deploy/chart');
  mkdirSync(join(source, 'chart'), { recursive: true });
  // Found by its name.
  copyFileSync(join(root, 'deploy/Containerfile'), join(source, 'Dockerfile'));
  for (const file of readdirSync(renderings).filter((name) => name.endsWith('.rendered.yaml')))
    copyFileSync(join(renderings, file), join(source, 'chart', file));
  for (const file of ['compose.yaml', 'compose.sqlite.yaml'])
    copyFileSync(join(root, 'deploy/compose', file), join(source, file));
  const { output, stdout } = run(tools.checkov, [
    ...['--directory', source, '--framework', 'dockerfile', 'kubernetes', 'secrets'],
    ...['--output', 'json', '--compact', '--quiet', '--skip-download', '--soft-fail'],
  ]);
  const start = stdout.search(/^[[{]/m);
  assert.ok(start >= 0, output);
  const reports = [JSON.parse(stdout.slice(start))].flat();
  const kinds = reports.map(({ check_type: kind }) => kind).sort();
  assert.deepEqual(
    kinds.filter((kind) => kind !== 'secrets'),
    ['dockerfile', 'kubernetes'],
    output,
  );
  const failed = new Map();
  for (const { check_id: id, check_name: name, resource } of reports.flatMap(({ results }) => results.failed_checks))
    failed.set(id, `${id} ${name} (${resource})`);
  const problems = [...failed].filter(([id]) => !(id in EXCEPTIONS)).map(([, text]) => text);
  assert.deepEqual(problems, []);
  const needless = Object.keys(EXCEPTIONS).filter((id) => !failed.has(id));
  assert.deepEqual(needless, [], 'exceptions that nothing needs');
  const passed = reports.reduce((sum, { summary }) => sum + summary.passed, 0);
  return `${passed} passed, ${Object.keys(EXCEPTIONS).length} exceptions`;
}
