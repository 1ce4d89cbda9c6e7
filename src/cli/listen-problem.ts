/** Reasons for which an address cannot be listened on, for the operator. */

import type { ServerConfig } from '../config/resolved.ts';

export function listenProblem(
  code: string | undefined,
  { host, port }: Pick<ServerConfig, 'host' | 'port'>,
): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use. Stop what listens there, or choose another port with --port.`;
    case 'EACCES':
      return `This user may not listen on port ${port}. Choose one from 1024 on with --port.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${host} is not an address of this machine. Choose another with --host.`;
    default:
      return undefined;
  }
}
