/** The official SDK of the messages protocol in both of its majors, which differ in version header and credential too. */

import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from 'anthropic-0';
import type { GatewayProcess } from './gateway-process.ts';

/** The majors differ in types alone as far as these tests go. */
const VERSIONS = { 'anthropic 1': Anthropic, 'anthropic 0': Anthropic0 as unknown as typeof Anthropic };

/** A client of each version, without retries. */
export function anthropicClients(gateway: () => Pick<GatewayProcess, 'url' | 'key'>): Record<string, () => Anthropic> {
  const connect = (Client: typeof Anthropic) => () =>
    new Client({ apiKey: gateway().key, authToken: null, baseURL: `${gateway().url}/anthropic`, maxRetries: 0 });
  return Object.fromEntries(Object.entries(VERSIONS).map(([name, Client]) => [name, connect(Client)]));
}

/** The class that a client was made of, which has the error classes of its version. */
export function anthropicOf(client: Anthropic): typeof Anthropic {
  return client.constructor as typeof Anthropic;
}
