/** Store interface: named operations, each one transaction that is durable when its promise resolves. */

import type { MessagePort } from 'node:worker_threads';
import type { Secret } from '../security/secret.ts';
import type { StoreOperation } from './operation.ts';
import type { operations } from './operations/index.ts';

export type StoreOperations = typeof operations;
export type StoreOperationName = keyof StoreOperations;
export type ParametersOf<Name extends StoreOperationName> =
  StoreOperations[Name] extends StoreOperation<infer Parameters, infer _Result> ? Parameters : never;
export type ResultOf<Name extends StoreOperationName> =
  StoreOperations[Name] extends StoreOperation<infer _Parameters, infer Result> ? Awaited<Result> : never;

export interface Store {
  readonly engine: 'sqlite' | 'postgres';
  /** Throws `StoreUnavailable` if the engine is unavailable: nothing was changed, or the outcome is unknown. */
  call<Name extends StoreOperationName>(name: Name, parameters: ParametersOf<Name>): Promise<ResultOf<Name>>;
  /**
   * Unix milliseconds of the store's own clock. Where gateways share a database it is the server's: never ahead of it, and
   * behind it by a round trip at most, so that nothing happens early and gateways differ by no more.
   */
  now(): number;
  /** Tries a small write. */
  health(): Promise<StoreHealth>;
  /** Waits for running operations. */
  close(): Promise<void>;
  /** Lets its threads collect their memory, where `allowCollections` is in force; resolves when they have. */
  releaseMemory?(): Promise<void>;
  /** Way in which another thread of the gateway reaches the store. */
  readonly access?: StoreAccess;
}

/** The embedded store has one writer, which other threads connect to; of a server they have connections of their own. */
export type StoreAccess =
  | { engine: 'sqlite'; attach(role: DatabaseRole, port: MessagePort): void }
  | { engine: 'postgres'; url: Secret };

/** A thread of the state database. */
export type DatabaseRole = 'writer' | 'reader';

export interface StoreHealth {
  writable: boolean;
  /** Reason, for the operator. */
  problem?: string;
}
