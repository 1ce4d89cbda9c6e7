/** Local URL of a listen address. */

/** URL for clients on this machine, without a trailing slash. */
export function localUrl({ host, port }: { host: string; port: number }): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

interface AdminAddress {
  host: string;
  port: number;
  publicUrl?: string | undefined;
}

/** Base URL of the admin API, at the address that it really has where that is known; undefined where it has none of its own. */
export function adminUrl(
  configured: AdminAddress | undefined,
  address: Pick<AdminAddress, 'host' | 'port'> | undefined,
): string | undefined {
  return configured && (configured.publicUrl ?? localUrl(address ?? configured));
}
