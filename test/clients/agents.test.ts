/** The AI SDK and LangChain as agents, with a thinking model of every protocol: three turns, and nothing lost between them. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { KEY } from '../gateway/harness.ts';
import { type Agent, aiSdkAgent, langChainAgent } from './agents.ts';
import { aiSdks } from './ai-sdk.ts';
import { langChains } from './langchain.ts';
import { PROTOCOLS, type ProvidedGateway, startProvidedGateway } from './provided-gateway.ts';
import { isAnswered } from './responses-provider.ts';
import { type Step, TEXT, type UpstreamProtocol, USAGE } from './upstreams.ts';

const zurich = { name: 'weather', args: { city: 'Zürich' } };
const bern = { name: 'weather', args: { city: 'Bern' } };
const clock = { name: 'clock', args: {} };
const STEPS: Step[] = [
  { thought: 'I must look. 🤔', signature: 'c2lnbmVkIG9uY2U=', calls: [{ id: 'call_1', ...zurich }] },
  {
    thought: 'Now both.',
    signature: 'c2lnbmVkIHR3aWNl',
    calls: [
      { id: 'call_2', ...bern },
      { id: 'call_3', ...clock },
    ],
  },
  { text: TEXT },
];
const CALLS = [[zurich], [bern, clock], []].map((calls) => calls.map(({ name, args }) => [name, args]));

let gateway: ProvidedGateway;
before(async () => {
  gateway = await startProvidedGateway(STEPS);
});
after(() => gateway.close());

const connection = () => ({ url: gateway.url, key: KEY });

interface Client {
  run(model: string, stream: boolean): Promise<Agent>;
  /** Whether it shows reasoning that comes from a provider of this protocol. */
  shows(protocol: UpstreamProtocol): boolean;
  /** What it makes of the usage, where that is less than it was told. */
  usage?(protocol: UpstreamProtocol, stream: boolean): Partial<Agent['usage']>;
}

const CLIENTS: Record<string, Client> = {};
for (const [name, connect] of Object.entries(aiSdks(connection)))
  CLIENTS[name] = {
    run: (model, stream) => aiSdkAgent(connect(), model, stream),
    // `@openrouter/ai-sdk-provider` doesn't read `reasoning_content`, which is all that a bare server may send.
    shows: (protocol) => name !== '@ai-sdk/openai' && !(name === '@openrouter/ai-sdk-provider' && protocol === 'chat'),
  };
for (const [name, connect] of Object.entries(langChains(connection)))
  CLIENTS[name] = {
    run: (model, stream) => langChainAgent(connect(), model, stream),
    shows: () => true,
    usage: (protocol, stream) => {
      // Providers of chat and Responses tell the input's count at the end, and this class reads it at the start.
      const isLate = protocol === 'chat' || protocol === 'responses';
      if (name === 'ChatAnthropic') return stream && isLate ? { input: 0 } : {};
      // This one leaves thoughts out of its counts, which providers of generate and Responses count apart.
      const isApart = protocol === 'generate' || protocol === 'responses';
      return name === 'ChatGoogleGenerativeAI' && isApart ? { output: 3 } : {};
    },
  };

/** The assistant's turns as a provider got them back, and the results that follow each. */
function pairs(protocol: UpstreamProtocol, body: Json): [calls: string[], results: string[]][] {
  const read = READERS[protocol];
  const turns: Json[] = body.messages ?? body.contents ?? body.input;
  const found: [string[], string[]][] = [];
  const isAnswer = (turn: Json) => turn !== undefined && (turn.role === 'model' || isAnswered(turn));
  for (const [index, turn] of turns.entries()) {
    const isMore = protocol === 'responses' && isAnswer(turns[index - 1]);
    if (!isAnswer(turn)) found.at(-1)?.[1].push(...read.results(turn));
    else if (isMore) found.at(-1)?.[0].push(...read.calls(turn));
    else found.push([read.calls(turn), []]);
  }
  return found;
}

/** Calls and results by what pairs them: an id, or a name where there are none. */
const READERS: Record<UpstreamProtocol, Record<'calls' | 'results', (turn: Json) => string[]>> = {
  chat: {
    calls: ({ tool_calls = [] }) => tool_calls.map(({ id }: Json) => id),
    results: ({ tool_call_id }) => [tool_call_id],
  },
  messages: {
    calls: ({ content }) => content.flatMap(({ type, id }: Json) => (type === 'tool_use' ? [id] : [])),
    results: ({ content }) => content.flatMap(({ tool_use_id }: Json) => tool_use_id ?? []),
  },
  generate: {
    calls: ({ parts }) => parts.flatMap(({ functionCall }: Json) => functionCall?.name ?? []),
    results: ({ parts }) => parts.flatMap(({ functionResponse }: Json) => functionResponse?.name ?? []),
  },
  responses: {
    calls: ({ type, call_id }) => (type === 'function_call' ? [call_id] : []),
    results: ({ type, call_id }) => (type === 'function_call_output' ? [call_id] : []),
  },
};

for (const [name, { run, shows, usage }] of Object.entries(CLIENTS)) {
  describe(`${name} as an agent`, () => {
    for (const protocol of PROTOCOLS) {
      for (const stream of [false, true]) {
        test(`with ${protocol}, ${stream ? 'streamed' : 'whole'} (checklist 46, 58, 59, 70, 71, 76)`, async () => {
          const agent = await run(`${protocol}/m`, stream);
          assert.deepEqual(agent.calls, CALLS);
          assert.equal(agent.text, TEXT);
          assert.deepEqual(agent.usage, { ...USAGE, ...usage?.(protocol, stream) });
          const thoughts = STEPS.flatMap((step) => ('thought' in step ? [step.thought] : []));
          assert.deepEqual(agent.reasoning, shows(protocol) ? thoughts : []);

          const sent = gateway.lastCall(protocol);
          const history = pairs(protocol, sent?.body);
          assert.deepEqual(
            history.map(([calls]) => calls.length),
            [1, 2],
          );
          for (const [calls, results] of history) assert.deepEqual(results, calls);
          if (protocol === 'chat') return;
          for (const step of STEPS)
            if ('signature' in step)
              assert(sent?.bytes.includes(`"${step.signature}"`), `${step.signature} is missing`);
        });
      }
    }
  });
}
