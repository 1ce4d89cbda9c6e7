/**
 * Memory that a start leaves behind: code and data of modules that ran once, and a young generation that grew while they
 * were loaded. V8 would keep it, since a gateway that idles collects nothing.
 */

import { executionAsyncResource } from 'node:async_hooks';
import { allowCollections, collectMemory } from '../core/collection.ts';
import type { Store } from '../store/store.ts';

/** Objects that live for their hidden classes. */
const held: { tickObject?: object } = {};

/** One full collection of about 50 ms, before requests come, in this thread and beside it in those of the store; gives 16 MB back. */
export function releaseStartMemory(store?: Pick<Store, 'releaseMemory'>): void {
  keepTickObject();
  const end = allowCollections();
  const released = store?.releaseMemory?.();
  collectMemory();
  if (released) void released.finally(end);
  else end();
}

/**
 * A collection that saves memory, this one and those of an idle process, drops hidden classes without objects. The object of
 * Node's `nextTick` has computed names; once its hidden class is another one, V8 makes it slowly for good: 6 us a request.
 */
function keepTickObject(): void {
  process.nextTick(() => {
    held.tickObject = executionAsyncResource();
  });
}
