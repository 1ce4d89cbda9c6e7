/** Group commit: operations that arrive while a transaction is committed share the next one. */

import type { DatabaseSync } from 'node:sqlite';
import type { StoreOperation, Transaction } from '../operation.ts';
import { encodeFailure, type ThreadFailure, toStoreError } from './failure.ts';
import type { Session } from './transaction.ts';

export interface OperationCall {
  id: number;
  name: string;
  parameters: unknown;
}

export type OperationResult = { id: number } & ({ result: unknown } | { failure: ThreadFailure });

export type AnyOperation = StoreOperation<unknown, unknown>;

export interface GroupOptions {
  connection: DatabaseSync;
  session: Session;
  findOperation(name: string): AnyOperation;
}

export async function runReads(calls: readonly OperationCall[], options: GroupOptions): Promise<OperationResult[]> {
  const results: OperationResult[] = [];
  for (const call of calls) results.push(await runOperation(call, options.session.reading, options));
  return results;
}

/** Runs all operations in one transaction; a failed operation is rolled back to its savepoint. */
export async function commitGroup(calls: readonly OperationCall[], options: GroupOptions): Promise<OperationResult[]> {
  const { connection, session } = options;
  const results: OperationResult[] = [];
  try {
    connection.exec('BEGIN IMMEDIATE');
    for (const call of calls) {
      connection.exec('SAVEPOINT operation');
      const outcome = await runOperation(call, session.writing, options);
      // Some errors, such as a full disk, roll back the whole transaction: retry each operation in its own.
      if (!connection.isTransaction) return calls.length === 1 ? [outcome] : await commitEach(calls, options);
      if ('failure' in outcome) connection.exec('ROLLBACK TO operation');
      connection.exec('RELEASE operation');
      results.push(outcome);
    }
    connection.exec('COMMIT');
    return results;
  } catch (error) {
    if (connection.isTransaction) connection.exec('ROLLBACK');
    const failure = encodeFailure(toStoreError(error));
    return calls.map(({ id }) => ({ id, failure }));
  }
}

async function commitEach(calls: readonly OperationCall[], options: GroupOptions): Promise<OperationResult[]> {
  const results: OperationResult[] = [];
  for (const call of calls) results.push(...(await commitGroup([call], options)));
  return results;
}

async function runOperation(
  { id, name, parameters }: OperationCall,
  transaction: Transaction,
  options: GroupOptions,
): Promise<OperationResult> {
  const guarded = guard(transaction);
  try {
    const running = options.findOperation(name).run(guarded.transaction, parameters);
    return {
      id,
      result: await (running instanceof Promise ? Promise.race([running, rejectForeignWait(name)]) : running),
    };
  } catch (error) {
    return { id, failure: encodeFailure(error) };
  } finally {
    guarded.end();
  }
}

/** Statements are synchronous here, so an operation still pending on the next event loop turn waits for something else. */
function rejectForeignWait(name: string): Promise<never> {
  return new Promise((_resolve, reject) => {
    setImmediate(() => reject(new Error(`the operation ${name} waits for something other than its transaction`)));
  });
}

/** A transaction that rejects statements after its end. */
function guard(transaction: Transaction): { transaction: Transaction; end(): void } {
  let over = false;
  function check(): void {
    if (over) throw new Error('the transaction is over');
  }
  return {
    transaction: {
      ...transaction,
      all(sql, values) {
        check();
        return transaction.all(sql, values);
      },
      run(sql, values) {
        check();
        return transaction.run(sql, values);
      },
      insert(table, rows, options) {
        check();
        return transaction.insert(table, rows, options);
      },
    },
    end() {
      over = true;
    },
  };
}
