/** Transport to an upstream inside the gateway. */

import { bytesOf } from '../core/platform.ts';
import type { LocalUpstream } from '../core/provider.ts';
import type { Transport, TransportEvents, TransportRequest } from './transport.ts';

export function runLocal(request: TransportRequest, local: LocalUpstream, events: TransportEvents): Transport {
  const stop = new AbortController();
  let release: (() => void) | undefined;
  let held: Promise<void> | undefined;

  async function run(): Promise<void> {
    const { pathname } = new URL(request.url);
    events.sent();
    const body = bytesOf(request.body);
    const response = await local({ method: request.method, path: pathname, body, signal: stop.signal });
    events.head(response.status, response.headers);
    for await (const chunk of response.body) {
      if (held) await held;
      if (stop.signal.aborted) return;
      events.data(chunk);
    }
    events.end();
  }
  run().catch((error) => events.fail(error));

  return {
    pause() {
      held ??= new Promise((resolve) => {
        release = resolve;
      });
    },
    resume() {
      release?.();
      held = undefined;
    },
    abort() {
      stop.abort();
      release?.();
    },
  };
}
