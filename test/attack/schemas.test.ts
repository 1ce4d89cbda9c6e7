/** JSON schemas that multiply: at upstreams of each protocol, and in the sandbox. */

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS, PATHS, type ProtocolId, post } from '../gateway/harness.ts';
import { attack } from './attack.ts';
import { type MeasuredGateway, startMeasuredGateway } from './loop-measure.ts';
import { doubling, manyReferences, toolBody } from './shapes.ts';

const HOLD_MS = 50;
/** By the schema's own budget, or by the limit of members in any object of a body. */
const REFUSAL = /JSON schema of the tool \\"f\\"|an object with more than 10000 members: tools\[\]\S*\.\$defs\.\w+\./;
const WAYS: readonly (readonly [ProtocolId, string])[] = [
  ['chat', 'b/m'],
  ['chat', 'c/m'],
  ['messages', 'a/m'],
  ['messages', 'c/m'],
  ['generate', 'b/m'],
  ['chat', 'sandbox/tools'],
];

let gateway: MeasuredGateway;

before(async () => {
  gateway = await startMeasuredGateway();
});
after(() => gateway.close());

const names = (count: number, name: string): string[] => Array.from({ length: count }, (_, index) => `${name}${index}`);

const values = names(10_000, 'value');

const SCHEMAS: Record<string, Json> = {
  'references that double at each of 20 levels': doubling(20),
  'references that double at each of 30 levels': doubling(30),
  '3,000 references to one definition of 9,000 properties': manyReferences(3_000, 9_000),
  '3,000 references to one definition of 20,000 properties': manyReferences(3_000, 20_000),
  'two enums of 10,000 values in an allOf': {
    type: 'object',
    properties: { a: { allOf: [{ enum: values }, { enum: values.toReversed() }] } },
  },
  '10,000 required names that are no properties': {
    type: 'object',
    properties: Object.fromEntries(names(5_000, 'p').map((name) => [name, {}])),
    required: names(10_000, 'q'),
  },
  'a property name of a megabyte above 5,000 lost keywords': {
    type: 'object',
    properties: { ['n'.repeat(1_000_000)]: Object.fromEntries(names(5_000, 'k').map((name) => [name, 1])) },
  },
};

for (const [name, schema] of Object.entries(SCHEMAS)) {
  attack(
    'schemas',
    {
      by: 'key holder',
      attempt: name,
      bound: `answered, or refused with 400, and the event loop held ${HOLD_MS} ms at most`,
    },
    async () => {
      let worst = 0;
      const statuses = new Set<number>();
      for (const [protocol, model] of WAYS) {
        const bytes = Buffer.from(JSON.stringify({ ...toolBody(protocol, [{ name: 'f', schema }]), model }));
        const { holdMs } = await gateway.measure(
          async () => {
            const response = await post(gateway.url + PATHS[protocol](model, false), bytes, HEADERS[protocol]);
            const text = await response.text();
            statuses.add(response.status);
            assert.ok([200, 400].includes(response.status), text);
            if (response.status === 400) assert.match(text, REFUSAL);
          },
          (measured) => measured.holdMs < HOLD_MS,
        );
        assert.ok(holdMs < HOLD_MS, `${protocol} to ${model}: ${holdMs} ms`);
        worst = Math.max(worst, holdMs);
      }
      return `${worst.toFixed(0)} ms, ${[...statuses].sort().join(' or ')}`;
    },
  );
}
