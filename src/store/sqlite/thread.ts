/** Database thread: owns the writing or the reading connection to one SQLite file. */

import { parentPort, workerData } from 'node:worker_threads';
import { type DatabaseOptions, openDatabase, openForReading } from './database.ts';
import { encodeFailure, type ThreadFailure, toStoreError } from './failure.ts';
import { type AnyOperation, commitGroup, type OperationCall, type OperationResult, runReads } from './group-commit.ts';
import { createSession } from './transaction.ts';

export interface ThreadOptions extends Omit<DatabaseOptions, 'migrations'> {
  role: 'writer' | 'reader';
  /** URL of the folder of the migrations. */
  migrations: string;
  /** URL of the module that exports `operations`. */
  operations: string;
}

export type ThreadRequest = { type: 'call'; call: OperationCall } | { type: 'close' };
export type ThreadMessage =
  | { type: 'ready' }
  | { type: 'unusable'; failure: ThreadFailure }
  | { type: 'answers'; answers: OperationResult[] };

/** Operations in one group commit. */
const MAX_GROUP_SIZE = 1000;

const port = parentPort;
if (port) {
  const post = (message: ThreadMessage) => port.postMessage(message);
  try {
    await serve(workerData, post);
    post({ type: 'ready' });
  } catch (error) {
    post({ type: 'unusable', failure: encodeFailure(toStoreError(error)) });
    port.close();
  }
}

async function serve(options: ThreadOptions, post: (message: ThreadMessage) => void): Promise<void> {
  const { operations }: { operations: Record<string, AnyOperation> } = await import(options.operations);
  const writes = options.role === 'writer';
  const migrations = new URL(options.migrations);
  const connection = writes ? openDatabase({ ...options, migrations }) : openForReading(options);
  const session = createSession(connection);
  const runGroup = writes ? commitGroup : runReads;
  const queue: OperationCall[] = [];
  let running = false;
  let closing = false;

  function findOperation(name: string): AnyOperation {
    const found = operations[name];
    if (!found) throw new Error(`no operation ${name}`);
    return found;
  }

  async function run(): Promise<void> {
    while (queue.length > 0) {
      post({
        type: 'answers',
        answers: await runGroup(queue.splice(0, MAX_GROUP_SIZE), { connection, session, findOperation }),
      });
    }
    running = false;
    if (closing) end();
  }

  function end(): void {
    connection.close();
    port?.close();
  }

  port?.on('message', (message: ThreadRequest) => {
    if (message.type === 'call') queue.push(message.call);
    else closing = true;
    if (running) return;
    running = true;
    setImmediate(run);
  });
}
