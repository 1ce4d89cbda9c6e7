/**
 * Memory that a start leaves behind: code and data of modules that ran once, and a young generation that grew while they
 * were loaded. V8 would keep it, since a gateway that idles collects nothing.
 */

import { executionAsyncResource } from 'node:async_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/** Objects that live for their hidden classes. */
const held: { tickObject?: object } = {};

/** One full collection of about 50 ms, before requests come; gives 8 MB back. */
export function releaseStartMemory(): void {
  keepTickObject();
  // Only a context that is made after the flag has the function.
  setFlagsFromString('--expose-gc');
  const collect: Collect = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
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
