/** The thread that owns a connection to one SQLite file: the one that writes, or one that reads beside it. */

import { parentPort, workerData } from 'node:worker_threads';
import { type DatabaseOptions, openDatabase, openForReading } from './database.ts';
import { encodeFailure, engineError, type ThreadFailure } from './failure.ts';
import { type AnyOperation, type OperationCall, type OperationResult, readGroup, writeGroup } from './group.ts';
import { createSession } from './transaction.ts';

export interface ThreadOptions extends Omit<DatabaseOptions, 'migrations'> {
  role: 'writer' | 'reader';
  /** URL of the folder of the migrations. */
  migrations: string;
  /** URL of the module that exports `operations`. */
  operations: string;
}

export type ToThread = { type: 'call'; call: OperationCall } | { type: 'close' };
export type FromThread =
  | { type: 'ready' }
  | { type: 'unusable'; failure: ThreadFailure }
  | { type: 'answers'; answers: OperationResult[] };

/** Most calls that are answered together. */
const GROUP = 1000;

const port = parentPort;
if (port) {
  const tell = (message: FromThread) => port.postMessage(message);
  try {
    await serve(workerData, tell);
    tell({ type: 'ready' });
  } catch (error) {
    tell({ type: 'unusable', failure: encodeFailure(engineError(error)) });
    port.close();
  }
}

async function serve(options: ThreadOptions, tell: (message: FromThread) => void): Promise<void> {
  const { operations }: { operations: Record<string, AnyOperation> } = await import(options.operations);
  const writes = options.role === 'writer';
  const migrations = new URL(options.migrations);
  const connection = writes ? openDatabase({ ...options, migrations }) : openForReading(options);
  const session = createSession(connection);
  const runGroup = writes ? writeGroup : readGroup;
  const queue: OperationCall[] = [];
  let running = false;
  let closing = false;

  function operation(name: string): AnyOperation {
    const found = operations[name];
    if (!found) throw new Error(`no operation ${name}`);
    return found;
  }

  async function run(): Promise<void> {
    while (queue.length > 0) {
      tell({ type: 'answers', answers: await runGroup(queue.splice(0, GROUP), { connection, session, operation }) });
    }
    running = false;
    if (closing) end();
  }

  function end(): void {
    connection.close();
    port?.close();
  }

  port?.on('message', (message: ToThread) => {
    if (message.type === 'call') queue.push(message.call);
    else closing = true;
    if (running) return;
    running = true;
    setImmediate(run);
  });
}
