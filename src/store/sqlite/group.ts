/** Group commit: what is asked for while the disk is busy shares the next transaction. */

import type { DatabaseSync } from 'node:sqlite';
import type { StoreOperation, Transaction } from '../operation.ts';
import { encodeFailure, engineError, type ThreadFailure } from './failure.ts';
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
  operation(name: string): AnyOperation;
}

export async function readGroup(calls: readonly OperationCall[], options: GroupOptions): Promise<OperationResult[]> {
  const answers: OperationResult[] = [];
  for (const call of calls) answers.push(await settle(call, options.session.reading, options));
  return answers;
}

/** One transaction for all, durable or failed when it resolves; an operation that fails is taken back alone. */
export async function writeGroup(calls: readonly OperationCall[], options: GroupOptions): Promise<OperationResult[]> {
  const { connection, session } = options;
  const answers: OperationResult[] = [];
  try {
    connection.exec('BEGIN IMMEDIATE');
    for (const call of calls) {
      connection.exec('SAVEPOINT operation');
      const answer = await settle(call, session.writing, options);
      // Some failures, such as a full disk, take the whole transaction back: then each is tried in its own.
      if (!connection.isTransaction) return calls.length === 1 ? [answer] : await writeEach(calls, options);
      if ('failure' in answer) connection.exec('ROLLBACK TO operation');
      connection.exec('RELEASE operation');
      answers.push(answer);
    }
    connection.exec('COMMIT');
    return answers;
  } catch (error) {
    if (connection.isTransaction) connection.exec('ROLLBACK');
    const failure = encodeFailure(engineError(error));
    return calls.map(({ id }) => ({ id, failure }));
  }
}

async function writeEach(calls: readonly OperationCall[], options: GroupOptions): Promise<OperationResult[]> {
  const answers: OperationResult[] = [];
  for (const call of calls) answers.push(...(await writeGroup([call], options)));
  return answers;
}

async function settle(
  { id, name, parameters }: OperationCall,
  transaction: Transaction,
  options: GroupOptions,
): Promise<OperationResult> {
  const guarded = guard(transaction);
  try {
    const running = options.operation(name).run(guarded.transaction, parameters);
    return { id, result: await (running instanceof Promise ? Promise.race([running, foreignWait(name)]) : running) };
  } catch (error) {
    return { id, failure: encodeFailure(error) };
  } finally {
    guarded.end();
  }
}

/** Statements answer at once here, so an operation that is not done by the next turn of the loop waits for something else. */
function foreignWait(name: string): Promise<never> {
  return new Promise((_resolve, reject) => {
    setImmediate(() => reject(new Error(`the operation ${name} waits for something other than its transaction`)));
  });
}

/** A transaction that an operation cannot use once it is over. */
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
