/** Preload of a measured gateway: tells what its main thread has allocated, and what of that has become old. */

import { type HeapProfiler, Session } from 'node:inspector/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { isMainThread } from 'node:worker_threads';

/**
 * `collect` ends with all that lives in the old generation; `old bytes` counts what lives there and what died there since.
 * `live bytes` counts all that lives, buffers included.
 */
export type HeapQuestion = 'sample' | 'sampled' | 'collect' | 'old bytes' | 'live bytes';

/** Bytes between two samples. */
const SAMPLING_INTERVAL = 16 * 1024;

if (isMainThread && process.channel) {
  const session = new Session();
  session.connect();
  process.on('message', async (question: HeapQuestion) => {
    switch (question) {
      case 'sample':
        await session.post('HeapProfiler.startSampling', {
          samplingInterval: SAMPLING_INTERVAL,
          includeObjectsCollectedByMajorGC: true,
          includeObjectsCollectedByMinorGC: true,
        });
        process.send?.('sampling');
        break;
      case 'sampled': {
        const { profile } = await session.post('HeapProfiler.stopSampling');
        process.send?.({ bytes: sizeOf(profile.head) });
        break;
      }
      case 'collect':
        gc?.();
        process.send?.('collected');
        break;
      case 'old bytes':
        // An object becomes old when it survives the second of these.
        for (let round = 0; round < 2; round++) gc?.({ type: 'minor' });
        process.send?.({ bytes: oldBytes() });
        break;
      case 'live bytes': {
        // Twice, because finalizers of the first free more.
        for (let round = 0; round < 2; round++) gc?.();
        const { heapUsed, external } = process.memoryUsage();
        process.send?.({ bytes: heapUsed + external });
      }
    }
  });
}

function sizeOf(node: HeapProfiler.SamplingHeapProfileNode): number {
  return node.children.reduce((sum, child) => sum + sizeOf(child), node.selfSize);
}

function oldBytes(): number {
  return getHeapSpaceStatistics()
    .filter(({ space_name: name }) => ['old_space', 'large_object_space'].includes(name))
    .reduce((sum, { space_used_size: size }) => sum + size, 0);
}
