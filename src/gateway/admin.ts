/** Admin API listener, started if the configuration has an admin token. */

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AdminConfig } from '../config/resolved.ts';
import { GatewayError } from '../core/errors.ts';
import { createAdminApp } from '../http/admin/app.ts';
import type { AdminServerOptions } from '../http/admin/request.ts';

export interface RunningAdmin {
  address: { host: string; port: number };
  close(): Promise<void>;
}

/** Throws `unavailable` with a message for the operator if the address cannot be used. */
export async function startAdmin(
  { token, host, port }: AdminConfig,
  options: Omit<AdminServerOptions, 'token'>,
): Promise<RunningAdmin> {
  const app = createAdminApp({ ...options, token });
  try {
    await app.listen({ host, port });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const reason = code === 'EADDRINUSE' ? 'it is in use' : code;
    throw new GatewayError('unavailable', `admin: ${host}:${port} cannot be listened on: ${reason}.`, { cause });
  }
  return { address: addressOf(app.server), close: () => app.close() };
}

export function addressOf(server: Server): { host: string; port: number } {
  const { address: host, port } = server.address() as AddressInfo;
  return { host, port };
}
