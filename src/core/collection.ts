/** Full collections of memory, for moments when a thread has just dropped much and will idle. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/** Makes `collectMemory` possible in all threads of the process, until the returned function is called. */
export function allowCollections(): () => void {
  setFlagsFromString('--expose-gc');
  return () => setFlagsFromString('--no-expose-gc');
}

/** Collects what this thread does not use and gives its pages back, in some 20 to 50 ms. Does nothing where it is not allowed. */
export function collectMemory(): void {
  // Only a context that is made after the flag has the function.
  const collect: Collect | undefined = runInNewContext('globalThis.gc');
  collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
