/** Database thread: owns the writing or the reading connection to one SQLite file. A writer serves reads, too. */

import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { collectMemory } from '../../core/collection.ts';
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

export type ThreadRequest =
  | { type: 'call'; call: OperationCall }
  | { type: 'attach'; port: MessagePort }
  | { type: 'release' }
  | { type: 'close' };
export type ThreadMessage =
  | { type: 'ready' }
  | { type: 'unusable'; failure: ThreadFailure }
  | { type: 'results'; results: OperationResult[] }
  | { type: 'released' };

type Reply = (message: ThreadMessage) => void;

interface QueuedCall {
  call: OperationCall;
  reply: Reply;
}

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
  const queue: QueuedCall[] = [];
  const attached = new Set<MessagePort>();
  let running = false;
  let closing = false;

  function findOperation(name: string): AnyOperation {
    const found = operations[name];
    if (!found) throw new Error(`no operation ${name}`);
    return found;
  }

  function isRead({ call }: QueuedCall): boolean {
    return operations[call.name]?.writes === false;
  }

  /** The first calls of the queue that are all reads or all writes: a read sees only committed data. */
  function nextGroup(): QueuedCall[] {
    const [first] = queue;
    const reads = first !== undefined && isRead(first);
    const end = queue.findIndex((queued) => isRead(queued) !== reads);
    return queue.splice(0, Math.min(MAX_GROUP_SIZE, end < 0 ? queue.length : end));
  }

  async function run(): Promise<void> {
    while (queue.length > 0) {
      const group = nextGroup();
      const calls = group.map(({ call }) => call);
      const runGroup = group.every(isRead) ? runReads : commitGroup;
      const results = await runGroup(calls, { connection, session, findOperation });
      const replies = group.map(({ reply }, index) => ({ reply, result: results[index] }));
      for (const [reply, own] of Map.groupBy(replies, ({ reply }) => reply)) {
        reply({ type: 'results', results: own.flatMap(({ result }) => result ?? []) });
      }
    }
    running = false;
    if (closing) end();
  }

  function end(): void {
    connection.close();
    for (const client of attached) client.close();
    port?.close();
  }

  function add(call: OperationCall, reply: Reply): void {
    queue.push({ call, reply });
    wake();
  }

  function wake(): void {
    if (running) return;
    running = true;
    setImmediate(run);
  }

  /** Another thread of the gateway. Its calls share the groups of all others. */
  function attach(client: MessagePort): void {
    attached.add(client);
    const reply: Reply = (message) => client.postMessage(message);
    client.on('message', (message: ThreadRequest) => {
      if (message.type === 'call') add(message.call, reply);
    });
    client.on('close', () => attached.delete(client));
  }

  port?.on('message', (message: ThreadRequest) => {
    switch (message.type) {
      case 'call':
        return add(message.call, post);
      case 'attach':
        return attach(message.port);
      case 'release':
        collectMemory();
        return post({ type: 'released' });
      case 'close':
        closing = true;
        wake();
    }
  });
}
