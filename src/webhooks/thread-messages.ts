/** Messages between the gateway and the thread that delivers webhooks. */

import type { MessagePort } from 'node:worker_threads';
import type { AddressPolicyOptions } from '../net/address-policy.ts';
import type { StoreAccessMessage } from '../store/open-in-thread.ts';
import type { DatabaseRole } from '../store/store.ts';

export interface ThreadSettings {
  store: StoreAccessMessage;
  /** The first key encrypts, all decrypt. */
  encryptionKeys: Uint8Array[];
  /** Secret for keys that have none of their own. */
  fallbackSecret?: string;
  policy: AddressPolicyOptions;
  dnsServers: readonly string[];
  /** PEM of an additional certificate authority. */
  extraCa?: string;
  /** Receiver of notices to the operator. */
  noticeUrl?: string;
  userAgent: string;
  timeoutMs: number;
  honorRetryAfter: boolean;
  standardHeaders: boolean;
}

export type ThreadCommand = { type: 'wake' } | { type: 'stop'; graceMs: number };

export type ThreadReport =
  | { type: 'attach'; role: DatabaseRole; port: MessagePort }
  | { type: 'log'; lines: LogLine[]; outcomes: string[]; exhausted: number };

export interface LogLine {
  level: 'info' | 'warn' | 'error';
  details: object;
  text: string;
}
