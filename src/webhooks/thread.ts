/** Thread that delivers webhooks, at a lower priority than the requests of clients. */

import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { createStoreClock } from '../core/clock.ts';
import { createScheduler } from '../jobs/scheduler.ts';
import { createAddressPolicy } from '../net/address-policy.ts';
import { createGuardedClient } from '../net/guarded-client.ts';
import { createLookup } from '../net/resolver.ts';
import { createCipher } from '../security/cipher.ts';
import { Secret } from '../security/secret.ts';
import { openStoreInThread } from '../store/open-in-thread.ts';
import { createDeliveryHandler } from './delivery.ts';
import { createExhaustionNotices } from './notice.ts';
import { createWebhookSecrets } from './secrets.ts';
import type { LogLine, ThreadCommand, ThreadReport, ThreadSettings } from './thread-messages.ts';

/** Added to the niceness of the gateway. */
const NICENESS_STEP = 10;
const MAX_NICENESS = 19;

if (parentPort) {
  lowerPriority();
  await serve(parentPort, workerData);
}

/** On Linux the priority is that of the calling thread; elsewhere it is that of the whole process and stays as it is. */
function lowerPriority(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, Math.min(MAX_NICENESS, getPriority(0) + NICENESS_STEP));
  } catch {
    // The system does not allow it; the thread works without.
  }
}

async function serve(port: NonNullable<typeof parentPort>, settings: ThreadSettings): Promise<void> {
  const post = (report: ThreadReport) => port.postMessage(report);
  const reports = createReports(post);
  const store = await openStoreInThread(settings.store, (role, database) =>
    port.postMessage({ type: 'attach', role, port: database } satisfies ThreadReport, [database]),
  );
  const [firstKey = Buffer.alloc(0), ...otherKeys] = settings.encryptionKeys.map((key) => Buffer.from(key));
  const fallback = settings.fallbackSecret === undefined ? undefined : new Secret(settings.fallbackSecret);
  const policy = createAddressPolicy(settings.policy);
  const client = createGuardedClient({
    policy,
    lookup: createLookup(policy, settings.dnsServers),
    reuseConnections: true,
    ...(settings.extraCa !== undefined && { extraCa: settings.extraCa }),
  });
  const clock = createStoreClock(store);
  const { log, events } = reports;
  const handler = createDeliveryHandler({
    store,
    client,
    log,
    events,
    clock,
    secrets: createWebhookSecrets({ store, cipher: createCipher([firstKey, ...otherKeys]), fallback }),
    userAgent: settings.userAgent,
    timeoutMs: settings.timeoutMs,
    honorRetryAfter: settings.honorRetryAfter,
    standardHeaders: settings.standardHeaders,
    ...(settings.noticeUrl !== undefined && {
      exhaustionNotice: createExhaustionNotices({ url: settings.noticeUrl, clock }),
    }),
  });
  const scheduler = createScheduler({ store, handlers: [handler], log, clock });
  port.on('message', async (command: ThreadCommand) => {
    if (command.type === 'wake') return scheduler.wake(handler.kind);
    await scheduler.stop(command.graceMs);
    client.close();
    await store.close();
    reports.flush();
    process.exit();
  });
}

/** Log lines and outcomes, sent together once in a turn of the event loop. */
function createReports(post: (report: ThreadReport) => void) {
  let lines: LogLine[] = [];
  let outcomes: string[] = [];
  let exhausted = 0;
  let isScheduled = false;

  function flush(): void {
    isScheduled = false;
    if (lines.length > 0 || outcomes.length > 0 || exhausted > 0) post({ type: 'log', lines, outcomes, exhausted });
    lines = [];
    outcomes = [];
    exhausted = 0;
  }

  function schedule(): void {
    if (!isScheduled) setImmediate(flush);
    isScheduled = true;
  }

  const writer = (level: LogLine['level']) => (details: object, text: string) => {
    lines.push({ level, details: cloneable(details), text });
    schedule();
  };
  return {
    flush,
    log: { info: writer('info'), warn: writer('warn'), error: writer('error') } as never,
    events: {
      webhookAttempted(outcome: string) {
        outcomes.push(outcome);
        schedule();
      },
      webhookExhausted() {
        exhausted += 1;
        schedule();
      },
    },
  };
}

/** Errors as the log writes them: a copy between threads keeps neither their class nor their properties. */
function cloneable(details: object): object {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => [name, value instanceof Error ? errorDetails(value) : value]),
  );
}

function errorDetails(error: Error): object {
  const { message, stack, cause } = error;
  const type = error.constructor.name;
  return { type, message, stack, ...(cause instanceof Error && { cause: errorDetails(cause) }) };
}
