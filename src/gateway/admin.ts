/** Admin API listener, started if the configuration has an admin token. */

import type { AdminConfig } from '../config/resolved.ts';
import { GatewayError } from '../core/errors.ts';
import { createAdminApp } from '../http/admin/app.ts';
import type { AdminServerOptions } from '../http/admin/request.ts';
import type { ListenAddress } from '../http1/connection-server.ts';

export interface RunningAdmin {
  address: ListenAddress;
  close(): Promise<void>;
}

/** Throws `unavailable` with a message for the operator if the address cannot be used. */
export async function startAdmin(
  { token, host, port }: AdminConfig,
  options: Omit<AdminServerOptions, 'token'>,
): Promise<RunningAdmin> {
  const app = createAdminApp({ ...options, token });
  try {
    return { address: await app.listen({ host, port }), close: () => app.close() };
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const reason = code === 'EADDRINUSE' ? 'it is in use' : code;
    throw new GatewayError('unavailable', `admin: ${host}:${port} cannot be listened on: ${reason}.`, { cause });
  }
}
