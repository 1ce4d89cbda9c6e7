/** A gateway in front of one provider of each protocol, each of whose models is called `m`. */

import type { Json } from '../../src/core/json/json.ts';
import {
  answerJson,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from '../gateway/harness.ts';
import { type Step, startProvider, type UpstreamProtocol } from './upstreams.ts';

export const PROTOCOLS = ['chat', 'messages', 'generate', 'responses'] as const;
export const TYPES: Record<UpstreamProtocol, string> = {
  chat: 'openai-compatible',
  messages: 'anthropic',
  generate: 'google',
  responses: 'open-responses',
};

export interface ProvidedGateway extends Pick<TestGateway, 'url' | 'close'> {
  /** What the last call of a provider asked for. */
  lastCall(protocol: UpstreamProtocol): TestUpstream['calls'][number] | undefined;
}

/** Providers that take steps, or that give one answer to everything, with a model of some kind. */
export async function startProvidedGateway(
  steps?: Step[],
  {
    answer,
    model = '{ id: m }',
    aliases = {},
  }: { answer?: Json; model?: string; aliases?: Record<string, string> } = {},
): Promise<ProvidedGateway> {
  const providers = {} as Record<UpstreamProtocol, TestUpstream>;
  const entries: string[] = [];
  for (const protocol of PROTOCOLS) {
    providers[protocol] = answer
      ? await startUpstream((_call, response) => answerJson(response, answer))
      : await startProvider(protocol, steps);
    const base = providers[protocol].url + (['chat', 'responses'].includes(protocol) ? '/v1' : '');
    entries.push(`  ${protocol}: { type: ${TYPES[protocol]}, base_url: "${base}", api_key: k, models: [${model}] }`);
  }
  const gateway = await startTestGateway(`aliases: ${JSON.stringify(aliases)}\nproviders:\n${entries.join('\n')}`);
  return {
    url: gateway.url,
    lastCall: (protocol) => providers[protocol].calls.at(-1),
    async close() {
      await gateway.close();
      for (const provider of Object.values(providers)) await provider.close();
    },
  };
}
