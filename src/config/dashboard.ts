/** Addresses of the dashboard: where keys use it, and where operators do. */

import { isLoopback } from '../core/loopback.ts';
import type { Config } from './resolved.ts';

/** Whether operators use the dashboard at the address of clients. */
export function servesOperators({ server, ui }: Pick<Config, 'server' | 'ui'>): boolean {
  if (!ui.enabled || ui.adminOnPublic) return ui.enabled;
  const { host, publicUrl } = server;
  return isLoopback(host) && (publicUrl === undefined || isLocal(publicUrl));
}

function isLocal(url: string): boolean {
  return isLoopback(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1'));
}
