/** Heap of a gateway after a full garbage collection, read by the inspector of its process. */

import { pause } from './stage.ts';

export interface HeapProbe {
  /** Bytes after a full collection. */
  live(): Promise<{ heap: number; external: number; rss: number }>;
  close(): void;
}

/** What a process is started with to be probed. */
export const INSPECTED = ['env', 'NODE_OPTIONS=--inspect=127.0.0.1:0'];

/** `log` is what the process has written, where it names its address. */
export async function probeHeap(log: () => string): Promise<HeapProbe> {
  const [url] = [...log().matchAll(/ws:\/\/127\.0\.0\.1:\d+\/[\w-]+/g)].at(-1) ?? [];
  if (url === undefined) throw new Error('the process cannot be inspected');
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error('the inspector cannot be reached')));
  });
  const waiting = new Map<number, (result: { result?: { value?: string } }) => void>();
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data));
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  let last = 0;
  const call = (method: string, params: object = {}) => {
    last += 1;
    const id = last;
    socket.send(JSON.stringify({ id, method, params }));
    return new Promise<{ result?: { value?: string } }>((resolve) => waiting.set(id, resolve));
  };
  return {
    async live() {
      // Twice, because finalizers of the first free more.
      for (let round = 0; round < 2; round++) {
        await call('HeapProfiler.collectGarbage');
        await pause(200);
      }
      const { result } = await call('Runtime.evaluate', {
        expression: 'JSON.stringify(process.memoryUsage())',
        returnByValue: true,
      });
      const { heapUsed, external, rss } = JSON.parse(result?.value ?? '{}');
      return { heap: heapUsed, external, rss };
    },
    close: () => socket.close(),
  };
}
