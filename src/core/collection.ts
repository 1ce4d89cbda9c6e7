/** Collections of memory that the program begins: full ones before a thread idles, and small ones after large buffers. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type CollectionOptions =
  | { type: 'major'; execution: 'sync'; flavor: 'last-resort' }
  | { type: 'minor'; execution: 'sync' };
type Collect = (options: CollectionOptions) => void;

/** Size from which a buffer counts. */
const LARGE_BUFFER_BYTES = 256 * 1024;
/** Fewest bytes of dropped buffers between two collections: V8 begins a full one, which costs ten times as much, at 64 MB. */
const MIN_COLLECTED_BYTES = 16 * 2 ** 20;

let collectYoung: Collect | undefined;
let droppedBytes = 0;

/** Makes `collectMemory` possible in all threads of the process, until the returned function is called. */
export function allowCollections(): () => void {
  setFlagsFromString('--expose-gc');
  return () => setFlagsFromString('--no-expose-gc');
}

/** Collects what this thread does not use and gives its pages back, in some 20 to 50 ms. Does nothing where it is not allowed. */
export function collectMemory(): void {
  collector()?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/**
 * Counts a buffer that is about to be dropped, and collects the young generation after many large ones, in one or two
 * milliseconds. V8 sees only the small objects that own such buffers, and so waits for a full collection. What lives through two
 * collections is old for V8, so at least as much is dropped between two as is still held.
 */
export function noteDroppedBuffer(bytes: number, heldBytes: number): void {
  if (bytes < LARGE_BUFFER_BYTES) return;
  droppedBytes += bytes;
  if (droppedBytes < Math.max(MIN_COLLECTED_BYTES, heldBytes)) return;
  droppedBytes = 0;
  setImmediate(collectBuffers);
}

function collectBuffers(): void {
  if (!collectYoung) {
    const end = allowCollections();
    collectYoung = collector();
    end();
  }
  collectYoung?.({ type: 'minor', execution: 'sync' });
}

/** Function that collects, where collections are allowed: only a context that is made after the flag has it. */
function collector(): Collect | undefined {
  return runInNewContext('globalThis.gc');
}
