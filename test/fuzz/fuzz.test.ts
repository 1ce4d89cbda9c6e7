/** The quick form of `npm run test:fuzz`: golden cases only, a few hundred mutants of each kind for each pair. */

import { describe, test } from 'node:test';
import fc from 'fast-check';
import { trials } from './campaign.ts';
import { goldenSeeds } from './seeds.ts';

const CASES = 150;

describe('no wire, however broken, makes a codec fail in a way that is not meant', () => {
  for (const { kind, from, to, property } of trials(goldenSeeds)) {
    test(`${kind} from ${from}${to && ` to ${to}`}`, async () => {
      await fc.assert(property, { numRuns: CASES });
    });
  }
});
