/** What goes wrong between us and PostgreSQL. */

import { DatabaseError } from 'pg';
import { StoreUnavailable } from '../unavailable.ts';

/** The server gave up on a transaction that may succeed when it runs again. */
export class Conflict extends Error {}

/** A value that the row has and a number cannot hold. */
export class Inexact extends Error {}

const CONFLICTS = new Set(['40001', '40P01']);

/** Classes of SQLSTATE that blame a statement or its values and not the server. */
const OF_THE_STATEMENT = new Set(['0A', '21', '22', '23', '25', '26', '34', '42', 'P0']);
/** Those of them that blame the server after all: read-only, and a transaction that idled for too long. */
const OF_THE_SERVER = new Set(['25006', '25P03', '42501']);

/** As `StoreUnavailable` where the server, the way to it or our rights on it are to blame. */
export function engineError(error: unknown): unknown {
  const { message } = error as Error;
  if (error instanceof Inexact) return error;
  if (!(error instanceof DatabaseError)) return new StoreUnavailable(message || 'no connection', error);
  const code = error.code ?? '';
  if (CONFLICTS.has(code)) return new Conflict(message);
  if (OF_THE_STATEMENT.has(code.slice(0, 2)) && !OF_THE_SERVER.has(code)) return error;
  return new StoreUnavailable(message, error);
}
