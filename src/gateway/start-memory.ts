/**
 * Memory that a start leaves behind: code and data of modules that ran once, and a young generation that grew while they
 * were loaded. V8 would keep it, since a gateway that idles collects nothing.
 */

import { allowCollections, collectMemory } from '../core/collection.ts';
import type { Store } from '../store/store.ts';

/** One full collection of about 50 ms, before requests come, in this thread and beside it in those of the store; gives 16 MB back. */
export function releaseStartMemory(store?: Pick<Store, 'releaseMemory'>): void {
  const end = allowCollections();
  const released = store?.releaseMemory?.();
  collectMemory();
  if (released) void released.finally(end);
  else end();
}
