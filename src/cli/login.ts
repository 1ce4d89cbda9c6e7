/** `polygate login`: makes a one-time link to the dashboard, beside a running gateway. */

import { servesOperators } from '../config/dashboard.ts';
import { localUrl } from '../config/host.ts';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/resolved.ts';
import { isLoopback } from '../core/loopback.ts';
import { withoutEnd } from '../core/text.ts';
import type { Author } from '../store/audit-rows.ts';
import { askReadiness } from './health.ts';
import { withKeys } from './keys.ts';
import { makeLink } from './login-link.ts';
import { type ConfigOptions, configSource } from './source.ts';
import { printJson } from './table.ts';

export interface LoginOptions extends ConfigOptions {
  viewer?: boolean;
  port?: number;
  /** Base URL of the dashboard. */
  url?: string;
  json?: boolean;
}

type Addresses = Pick<Config, 'server' | 'ui' | 'admin'>;

/** A gateway on this machine answers sooner. */
const READINESS_TIMEOUT_MS = 2000;
const AUTHOR: Author = { actor: 'command line' };

/** Only the link goes to standard output, so that scripts can capture it. */
export async function login({ viewer, port, url, json, ...options }: LoginOptions): Promise<void> {
  const config = loadConfig({ ...configSource(options), ...(port !== undefined && { port }) });
  if (url !== undefined && !/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new Error(`--url is the address of the dashboard, such as https://gateway.example.com; it is ${url}`);
  const base = url === undefined ? baseUrl(config) : withoutEnd(url, '/');
  const role = viewer ? 'viewer' : 'admin';
  const link = await withKeys(config, ({ store }) => makeLink(store, { base, role, author: AUTHOR }));
  if (json) {
    printJson({ url: link.url, role, expires_at: new Date(link.expiresAt).toISOString() });
    return;
  }
  process.stderr.write('It opens the dashboard once, within 15 minutes:\n');
  process.stdout.write(`${link.url}\n`);
  if (!isOnThisMachine(base)) return;
  const { isReached, problem } = await askReadiness(base, READINESS_TIMEOUT_MS);
  if (isReached) return;
  process.stderr.write(
    `Warning: no gateway answers at ${base} (${problem}); --port names the port of one that has another.\n`,
  );
}

/** The address of a machine elsewhere may be one that browsers reach, and this one does not. */
function isOnThisMachine(base: string): boolean {
  return isLoopback(new URL(base).hostname);
}

function baseUrl({ server, ui, admin }: Addresses): string {
  if (!ui.enabled) throw new Error('The dashboard is off: ui.enabled is false in the configuration.');
  const isHere = servesOperators({ server, ui });
  const own = isHere ? server : admin;
  if (!own) {
    throw new Error(
      'Operators have no dashboard: other machines reach the address of clients, and there is no other. Set admin.token, ' +
        'or behind TLS server.public_url and ui.admin_on_public.',
    );
  }
  if (own.publicUrl !== undefined) return own.publicUrl;
  if (own.port === 0) throw new Error('The port of the gateway is chosen by the system; name its address with --url.');
  return localUrl(own);
}
