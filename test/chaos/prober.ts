/** A client in a thread of its own, so that it measures the gateway and not what else this process does. */

import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { ask } from './gateway.ts';

export interface Probe {
  /** How long answers took until now, in milliseconds. */
  stop(): Promise<number[]>;
}

/** Asks again and again: with a body for an answer of a model, without for the status of `/healthz`. */
export function startProbe(url: string, body?: unknown): Probe {
  const worker = new Worker(new URL(import.meta.url), { workerData: { url, body } });
  return {
    stop: () =>
      new Promise((resolve, reject) => {
        worker.on('message', resolve).on('error', reject);
        worker.postMessage('stop');
      }),
  };
}

if (!isMainThread && parentPort) {
  const { url, body } = workerData;
  const took: number[] = [];
  const port = parentPort;
  port.on('message', () => {
    port.postMessage(took);
    process.exit(0);
  });
  for (;;) {
    const began = performance.now();
    await ask(url, body).catch(() => undefined);
    took.push(performance.now() - began);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
