/**
 * Every field of a request has a known fate at every upstream of another protocol: its value arrives, it is adapted in a way
 * that is listed here, it is refused by name, or `x-polygate-dropped` names it. A field without a fate fails.
 */

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { GatewayError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json/json.ts';
import type { ModelRules } from '../../src/core/model.ts';
import { protocols, upstreamProtocols } from '../../src/protocols/index.ts';
import { ALONE, REFUSED } from './fates.ts';
import { type Encoded, encode, everythingOf, fatesOf, LENIENT, plainOf } from './fields.ts';

function unaccounted(pair: string, asked: Json, encoded: Encoded): string[] {
  const lost = fatesOf(pair, asked, encoded).filter(({ fate }) => fate === undefined);
  return [...new Set(lost.map(({ leaf }) => `${leaf.path} = ${JSON.stringify(leaf.value)}`))];
}

/** Models that take all, the newest models, and models that take little. */
const RULES: Record<string, ModelRules> = {
  'a lenient model': LENIENT,
  'a model that nothing is known of': {},
  'a model that takes little': {
    ...{ sampling: 'never', bothSampling: false, penalties: false, logprobs: false, logitBias: false, stop: false },
    ...{ forcedChoice: false, midSystem: false, reasoning: 'none', schema: false, resultMedia: false },
  },
};

const clients = protocols.filter(({ id }) => id !== 'responses');

before(async () => {
  for (const { load } of upstreamProtocols) await load?.();
});

for (const from of clients) {
  for (const to of upstreamProtocols.filter((other) => other !== from)) {
    const pair = `${from.id} ${to.id}`;
    describe(`fields from ${from.id} to ${to.id}`, () => {
      for (const [model, rules] of Object.entries(RULES)) {
        test(`all fields, for ${model}`, () => {
          const body = everythingOf(from);
          assert.deepEqual(unaccounted(pair, body, encode(from, to, { body, rules })), []);
        });
      }
      for (const change of ALONE[from.id] ?? []) {
        test(`field alone: ${JSON.stringify(change)}`, () => {
          const body = { ...plainOf(from), ...change };
          const encoded = encode(from, to, { body, rules: LENIENT });
          assert.deepEqual(unaccounted(pair, change, encoded), []);
        });
      }
      for (const [param, change] of Object.entries(REFUSED[pair] ?? {})) {
        test(`refused by name: ${param}`, () => {
          const refused = (error: unknown) =>
            error instanceof GatewayError &&
            error.code.startsWith('unsupported_') &&
            [error.param, from.parameterName(error.param ?? '')].includes(param);
          assert.throws(() => encode(from, to, { body: { ...plainOf(from), ...change }, rules: {} }), refused);
        });
      }
    });
  }
}
