/** An attack as a test: its name says what is attempted, its bound what the gateway must keep, its result what was measured. */

import { type TestContext, test } from 'node:test';

export interface Attack {
  /** Who attacks: a client with a valid key, a stranger without one, or an upstream. */
  by: 'key holder' | 'stranger' | 'upstream';
  /** What is attempted, e.g. `a schema whose references double at each of 30 levels`. */
  attempt: string;
  /** What must hold, e.g. `refused with 400 within 50 ms`. */
  bound: string;
}

/** One row of the table that `npm run test:attack` prints. */
export interface AttackRow extends Attack {
  area: string;
  measured: string;
}

/** The prefix of the diagnostic line that carries a row from a test to the report. */
export const ROW_PREFIX = 'attack-row ';

/**
 * Registers a test for an attack. `run` fails the test where the bound does not hold, and returns the measured figure with
 * its unit (`12 ms`, `400`, `0 of 60`) for the table, or `held`.
 */
export function attack(area: string, described: Attack, run: (context: TestContext) => Promise<string>): void {
  test(`${described.attempt}: ${described.bound}`, async (context) => {
    const row: AttackRow = { area, ...described, measured: await run(context) };
    context.diagnostic(ROW_PREFIX + JSON.stringify(row));
  });
}
