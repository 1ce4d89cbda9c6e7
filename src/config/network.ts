/** Ways out of the network of the gateway, as they are configured. */

import type { HttpProxy } from '../core/http-proxy.ts';

export interface NetworkConfig {
  /** `ip:port`; empty means the system resolvers. */
  dnsServers: string[];
  /** Its URL is a secret. */
  proxy?: HttpProxy | undefined;
}
