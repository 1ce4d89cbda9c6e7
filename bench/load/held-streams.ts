/** Streams that stay open: started in groups, counted when their first bytes have come. */

import { connect, type Socket } from 'node:net';
import { delay } from '../host/children.ts';
import type { Target } from './connection.ts';

const GROUP = 100;
const GROUP_INTERVAL_MS = 60;
const SETTLE_MS = 3000;
const START_TIMEOUT_MS = 30_000;

export interface HeldStreams {
  /** Opens so many more, and waits until they have begun and some frames have come. */
  open(count: number): Promise<void>;
  /** Streams that have begun and are not broken. */
  standing(): number;
  /** Statuses of requests that were not answered by a stream. */
  refusals(): string[];
  close(): void;
}

export function holdStreams({ port, bytes }: Target): HeldStreams {
  const sockets = new Set<Socket>();
  let standing = 0;
  const refusals = new Set<string>();

  function openOne(): void {
    const socket = connect({ port, host: '127.0.0.1' });
    let hasBegun = false;
    sockets.add(socket);
    socket.write(bytes);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      if (hasBegun) return;
      const status = data.toString('latin1', 9, 12);
      if (status !== '200') {
        refusals.add(status);
        socket.destroy();
        return;
      }
      standing++;
      hasBegun = true;
    });
    socket.on('close', () => {
      if (hasBegun) standing--;
      sockets.delete(socket);
    });
  }

  return {
    async open(count) {
      const wanted = standing + count;
      for (let opened = 0; opened < count; opened++) {
        openOne();
        if (opened % GROUP === GROUP - 1) await delay(GROUP_INTERVAL_MS);
      }
      for (let waited = 0; standing < wanted && waited < START_TIMEOUT_MS; waited += 100) await delay(100);
      await delay(SETTLE_MS);
    },
    standing: () => standing,
    refusals: () => [...refusals],
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
