/** Classification of PostgreSQL errors. */

import { DatabaseError } from 'pg';
import { StoreUnavailable } from '../unavailable.ts';

/** A serialization failure or deadlock: the transaction can be retried. */
export class TransactionConflict extends Error {}

/** A prepared statement whose result has other columns since a migration. It is prepared anew on another connection. */
export class StalePlan extends TransactionConflict {}

/** An integer of a row that a JavaScript number cannot represent exactly. */
export class InexactNumber extends Error {}

const CONFLICT_CODES = new Set(['40001', '40P01']);
const LOCK_TIMEOUT_CODE = '55P03';
const STATEMENT_TIMEOUT_CODE = '57014';
/** The function of the server that finds a prepared statement to be stale; its error code has other meanings, too. */
const STALE_PLAN_ROUTINE = 'RevalidateCachedQuery';

/** SQLSTATE classes of errors in a statement or its values. */
const STATEMENT_ERROR_CLASSES = new Set(['0A', '21', '22', '23', '25', '34', '42', 'P0']);
/** SQLSTATE codes of these classes that are server errors: read-only, idle timeout, transaction timeout, missing privilege, a name that a pooler's other client prepared. */
const SERVER_ERROR_CODES = new Set(['25006', '25P03', '25P04', '42501', '42P05']);

/** An administrator ended the connection, or the network did. */
const CONNECTION_LOSS_CODES = new Set(['57P01', 'ECONNRESET', 'EPIPE']);
const CONNECTION_LOSS_MESSAGE = 'Connection terminated unexpectedly';

const UNIQUE_VIOLATION_CODE = '23505';
const DIVISION_BY_ZERO_CODE = '22012';

export function isUniqueViolation(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === UNIQUE_VIOLATION_CODE;
}

/** A condition of a statement that did not hold. */
export function isDivisionByZero(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === DIVISION_BY_ZERO_CODE;
}

/** Whether another session held the lock of a table for longer than `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === LOCK_TIMEOUT_CODE;
}

/** Whether a statement took longer than `statement_timeout`, or was cancelled. */
export function isStatementTimeout(error: unknown): boolean {
  return codeOf(error) === STATEMENT_TIMEOUT_CODE;
}

/** Whether the connection ended under a statement, whose outcome is unknown: another connection may work. */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof StoreUnavailable)) return false;
  return CONNECTION_LOSS_CODES.has(codeOf(error) ?? '') || error.problem === CONNECTION_LOSS_MESSAGE;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof StoreUnavailable ? (error.cause as DatabaseError)?.code : undefined;
}

/** Maps server, connection and privilege errors to `StoreUnavailable`. */
export function toStoreError(error: unknown): unknown {
  const { message } = error as Error;
  if (error instanceof InexactNumber) return error;
  if (!(error instanceof DatabaseError)) return new StoreUnavailable(message || 'no connection', error);
  const code = error.code ?? '';
  if (code === '0A000' && error.routine === STALE_PLAN_ROUTINE) return new StalePlan(message);
  if (CONFLICT_CODES.has(code)) return new TransactionConflict(message);
  if (STATEMENT_ERROR_CLASSES.has(code.slice(0, 2)) && !SERVER_ERROR_CODES.has(code)) return error;
  return new StoreUnavailable(message, error);
}
