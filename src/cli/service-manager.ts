/**
 * systemd's notifications: ready, stopping, and the watchdog. They are datagrams to a Unix socket, which Node cannot send, so
 * that systemd's own program sends them; it needs `NotifyAccess=all` in the unit.
 */

import { execFile } from 'node:child_process';
import type { Logger } from 'pino';
import { type Clock, every } from '../core/clock.ts';

export interface ServiceManagerOptions {
  environment: Readonly<Record<string, string | undefined>>;
  log: Pick<Logger, 'warn'>;
  clock: Pick<Clock, 'after'>;
}

export interface ServiceManager {
  /** The gateway listens. Begins the watchdog, if the unit has one. */
  ready(): void;
  stopping(): void;
}

const PROGRAM = 'systemd-notify';
const TIMEOUT_MS = 10_000;
const MICROSECONDS_PER_MS = 1000;

/** Does nothing where no service manager listens. */
export function connectServiceManager({ environment, log, clock }: ServiceManagerOptions): ServiceManager {
  if (!environment.NOTIFY_SOCKET) return { ready() {}, stopping() {} };
  let hasWarned = false;

  function notify(...states: string[]): void {
    execFile(PROGRAM, states, { timeout: TIMEOUT_MS }, (error) => {
      if (error && !hasWarned) log.warn({ problem: error.message }, 'the service manager cannot be notified');
      hasWarned ||= error !== null;
    });
  }

  const watchdogMs = Number(environment.WATCHDOG_USEC) / MICROSECONDS_PER_MS;
  return {
    ready() {
      notify('READY=1');
      // A process whose event loop stands still sends nothing.
      if (watchdogMs > 0) every(clock, watchdogMs / 2, () => notify('WATCHDOG=1'), { background: true });
    },
    stopping: () => notify('STOPPING=1'),
  };
}
