/** Every official SDK with a model of every protocol: what it gets, and what it hands back to the provider. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { KEY } from '../gateway/harness.ts';
import { anthropicClients } from './anthropic.ts';
import { genaiClients } from './genai.ts';
import { anthropicLoop, genaiLoop, type Loop, openaiLoop } from './loops.ts';
import { openaiClients } from './openai.ts';
import { PROTOCOLS, type ProvidedGateway, startProvidedGateway } from './provided-gateway.ts';
import { ARGS, SIGNATURE, TEXT, THOUGHT, USAGE } from './upstreams.ts';

let gateway: ProvidedGateway;
before(async () => {
  gateway = await startProvidedGateway();
});
after(() => gateway.close());

const connection = () => ({ url: gateway.url, key: KEY });

type Run = (model: string, stream: boolean) => Promise<Loop>;

function runs<Client>(
  clients: Record<string, () => Client>,
  loop: (client: Client, model: string, stream: boolean) => Promise<Loop>,
): [string, Run][] {
  return Object.entries(clients).map(([name, connect]) => [name, (model, stream) => loop(connect(), model, stream)]);
}

const SDKS = [
  ...runs(openaiClients(connection), openaiLoop),
  ...runs(anthropicClients(connection), anthropicLoop),
  ...runs(genaiClients(connection), genaiLoop),
];

for (const [name, run] of SDKS) {
  describe(`${name} in a tool loop with a thinking model (checklist 109)`, () => {
    for (const protocol of PROTOCOLS) {
      for (const stream of [false, true]) {
        test(`of ${protocol}, ${stream ? 'streamed' : 'whole'} (checklist 31, 46, 58, 70, 71, 76)`, async () => {
          const { reasoning, args, usage, text } = await run(`${protocol}/m`, stream);
          assert.deepEqual({ args, usage, text }, { args: ARGS, usage: USAGE, text: TEXT });
          if (!(protocol === 'chat' && name.startsWith('openai'))) assert.equal(reasoning, THOUGHT);
          const sent = gateway.lastCall(protocol)?.bytes.toString() ?? '';
          if (protocol !== 'chat')
            assert(sent.includes(`"${SIGNATURE}"`), `the provider's own state is missing: ${sent}`);
        });
      }
    }
  });
}
