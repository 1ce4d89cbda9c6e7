/**
 * Loaded before every test file: property tests draw the same cases in every run, so that a red run means a change and not
 * luck. `SEED=random npm test` draws others, `SEED=<number>` repeats those of a run that failed.
 */

import fc from 'fast-check';

const FIXED = 20_261_121;

const { SEED = String(FIXED) } = process.env;
fc.configureGlobal({ seed: SEED === 'random' ? Date.now() % 2 ** 31 : Number(SEED) });
