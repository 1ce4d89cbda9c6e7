/** One-time links to the dashboard. */

import { servesOperators } from '../config/dashboard.ts';
import { localUrl } from '../config/host.ts';
import type { Config } from '../config/resolved.ts';
import { createLoginCode, loginUrl } from '../http/sessions/login-code.ts';
import type { Role } from '../http/sessions/roles.ts';
import type { Author } from '../store/audit-rows.ts';
import type { Store } from '../store/store.ts';

/** Link that the first start shows, to the page of setup; undefined where operators have no dashboard at the address of the gateway. */
export async function firstLink(
  store: Store,
  config: Config,
  address: { host: string; port: number },
): Promise<string | undefined> {
  if (!servesOperators(config)) return undefined;
  const base = config.server.publicUrl ?? localUrl(address);
  return (await makeLink(store, { base, page: '/setup', role: 'admin', author: { actor: 'gateway' } })).url;
}

/** Tells where the dashboard is and how to come in, at later starts; undefined as above. `port` is the one that the command line chose. */
export function dashboardHint(
  config: Config,
  address: { host: string; port: number },
  port: number | undefined,
): string | undefined {
  if (!servesOperators(config)) return undefined;
  const command = `polygate login${port === undefined ? '' : ` --port ${address.port}`}`;
  return `The dashboard is at ${config.server.publicUrl ?? localUrl(address)}/ui: "${command}" makes a link to it.`;
}

export async function makeLink(
  store: Store,
  { base, page, role, author }: { base: string; page?: string; role: Exclude<Role, 'key'>; author: Author },
): Promise<{ url: string; expiresAt: number }> {
  const { code, expiresAt } = await createLoginCode(store, { role, author, now: store.now() });
  return { url: loginUrl(base, code, page), expiresAt };
}
