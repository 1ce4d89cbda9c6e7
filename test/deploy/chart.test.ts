/** Committed renderings of the chart: what every pod must have, and a configuration that the gateway accepts. `npm run test:deploy` compares them with the chart. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { parseConfig } from '../../src/config/load.ts';
import type { Json } from '../../src/core/json/json.ts';
import { providerTypes } from '../../src/providers/index.ts';

const FOLDER = join(import.meta.dirname, 'chart');
const VALUES = '.values.yaml';
const SECRETS = {
  POLYGATE_DATABASE: 'postgres://user:password@database/polygate',
  POLYGATE_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
  POLYGATE_ADMIN_TOKEN: 'a'.repeat(32),
};

for (const file of readdirSync(FOLDER).filter((name) => name.endsWith(VALUES))) {
  describe(file, () => {
    const text = readFileSync(join(FOLDER, file.replace(VALUES, '.rendered.yaml')), 'utf8');
    const objects = parseAllDocuments(text).map((document): Json => document.toJS());
    const pods = objects.flatMap(({ kind, spec }) =>
      kind === 'Pod' ? [spec] : ['Deployment', 'Job'].includes(kind) ? [spec.template.spec] : [],
    );

    test('no pod is root, writes to its root or has a token of the cluster', () => {
      assert.ok(pods.length > 0);
      for (const pod of pods) {
        assert.equal(pod.automountServiceAccountToken, false);
        assert.equal(pod.securityContext.runAsNonRoot, true);
        assert.equal(pod.securityContext.seccompProfile.type, 'RuntimeDefault');
        for (const { securityContext: own } of pod.containers) {
          assert.deepEqual([own.readOnlyRootFilesystem, own.allowPrivilegeEscalation], [true, false]);
          assert.deepEqual(own.capabilities.drop, ['ALL']);
        }
      }
    });

    test('the admin port is on no service but its own, inside the cluster', () => {
      const { env } = pods.find(({ terminationGracePeriodSeconds: grace }) => grace === 45).containers[0];
      const hasAdmin = env.some(({ name }: Json) => name === 'POLYGATE_ADMIN_TOKEN');
      const services = objects.filter(({ kind }) => kind === 'Service');
      for (const { metadata, spec } of services) {
        const isAdmin = metadata.name.endsWith('-admin');
        if (isAdmin) assert.equal(spec.type, 'ClusterIP');
        assert.deepEqual(
          spec.ports.map(({ name }: Json) => name),
          [isAdmin ? 'admin' : 'http'],
        );
      }
      assert.equal(services.length, hasAdmin ? 2 : 1);
    });

    test('the gateway accepts the configuration', () => {
      const { data } = objects.find(({ kind, data }) => kind === 'ConfigMap' && data['polygate.yaml']);
      const { env } = pods.find(({ terminationGracePeriodSeconds: grace }) => grace === 45).containers[0];
      const names = env.map(({ name }: Json) => name);
      const environment = Object.fromEntries(Object.entries(SECRETS).filter(([name]) => names.includes(name)));
      parseConfig(data['polygate.yaml'], { environment, known: providerTypes });
    });
  });
}
