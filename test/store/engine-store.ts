/** Calls of the operations that only tests of the engines have. */

import type { Store } from '../../src/store/store.ts';
import type { operations } from './engine-operations.ts';

type Operations = typeof operations;

export const ENGINE_OPERATIONS = new URL('./engine-operations.ts', import.meta.url);

/** The same store, as one that has those operations. */
export interface EngineStore extends Omit<Store, 'call'> {
  call<Name extends keyof Operations>(
    name: Name,
    parameters: Parameters<Operations[Name]['run']>[1],
  ): Promise<Awaited<ReturnType<Operations[Name]['run']>>>;
}

export function engineStore(store: Store): EngineStore {
  return store as unknown as EngineStore;
}
