/**
 * Open loop: requests begin at a fixed rate, whether earlier ones are answered or not, so that a slow gateway is not spared.
 * A request that finds no connection free waits for one, and its time counts from its turn.
 */

import { type LoadConnection, openConnection, type Target } from './connection.ts';

export interface OpenLoopOptions {
  rate: number;
  connections: number;
  seconds: number;
}

export interface Latencies {
  ok: number;
  failed: number;
  /** In milliseconds. */
  p50: number;
  p99: number;
}

export function openLoop(target: Target, { rate, connections, seconds }: OpenLoopOptions): Promise<Latencies> {
  const idle: LoadConnection[] = Array.from({ length: connections }, () => openConnection(target.port));
  const all = [...idle];
  const waiting: number[] = [];
  const times: number[] = [];
  let failed = 0;
  let begun = 0;
  const total = Math.round(rate * seconds);
  const start = performance.now();

  return new Promise((resolve) => {
    const timer = setInterval(tick, 1);

    function tick(): void {
      const now = performance.now();
      const due = Math.min(total, Math.floor(((now - start) / 1000) * rate));
      for (; begun < due; begun++) begin(now);
    }

    function begin(since: number): void {
      const connection = idle.pop();
      if (connection === undefined) waiting.push(since);
      else send(connection, since);
    }

    function send(connection: LoadConnection, since: number): void {
      connection.send(target.bytes, (status) => {
        if (status === 200) times.push(performance.now() - since);
        else failed++;
        const next = waiting.shift();
        if (next === undefined) idle.unshift(connection);
        else send(connection, next);
        if (times.length + failed === total) finish();
      });
    }

    function finish(): void {
      clearInterval(timer);
      for (const connection of all) connection.close();
      const sorted = times.sort((one, other) => one - other);
      resolve({ ok: times.length, failed, p50: at(sorted, 0.5), p99: at(sorted, 0.99) });
    }
  });
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
