/** Classification of PostgreSQL errors. */

import { DatabaseError } from 'pg';
import { StoreUnavailable } from '../unavailable.ts';

/** A serialization failure or deadlock: the transaction can be retried. */
export class TransactionConflict extends Error {}

/** An integer of a row that a JavaScript number cannot represent exactly. */
export class InexactNumber extends Error {}

const CONFLICT_CODES = new Set(['40001', '40P01']);

/** SQLSTATE classes of errors in a statement or its values. */
const STATEMENT_ERROR_CLASSES = new Set(['0A', '21', '22', '23', '25', '26', '34', '42', 'P0']);
/** SQLSTATE codes of these classes that are server errors: read-only, idle timeout, missing privilege. */
const SERVER_ERROR_CODES = new Set(['25006', '25P03', '42501']);

const UNIQUE_VIOLATION_CODE = '23505';

export function isUniqueViolation(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === UNIQUE_VIOLATION_CODE;
}

/** Maps server, connection and privilege errors to `StoreUnavailable`. */
export function toStoreError(error: unknown): unknown {
  const { message } = error as Error;
  if (error instanceof InexactNumber) return error;
  if (!(error instanceof DatabaseError)) return new StoreUnavailable(message || 'no connection', error);
  const code = error.code ?? '';
  if (CONFLICT_CODES.has(code)) return new TransactionConflict(message);
  if (STATEMENT_ERROR_CLASSES.has(code.slice(0, 2)) && !SERVER_ERROR_CODES.has(code)) return error;
  return new StoreUnavailable(message, error);
}
