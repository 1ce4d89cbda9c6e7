/** The official SDK of chat completions in both of its majors. */

import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import type { GatewayProcess } from './gateway-process.ts';

/** The majors differ in types alone as far as these tests go. */
const VERSIONS = { 'openai 7': OpenAI, 'openai 6': OpenAI6 as unknown as typeof OpenAI };

/** A client of each version, without retries. */
export function openaiClients(gateway: () => Pick<GatewayProcess, 'url' | 'key'>): Record<string, () => OpenAI> {
  const connect = (Client: typeof OpenAI) => () =>
    new Client({ apiKey: gateway().key, baseURL: `${gateway().url}/v1`, maxRetries: 0 });
  return Object.fromEntries(Object.entries(VERSIONS).map(([name, Client]) => [name, connect(Client)]));
}

/** The class that a client was made of, which has the error classes of its version. */
export function openaiOf(client: OpenAI): typeof OpenAI {
  return client.constructor as typeof OpenAI;
}
