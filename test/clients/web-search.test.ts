/** Searches of the web that providers of other protocols ran, as the official SDK of the Responses protocol reads them. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { Agent, OpenAIResponsesModel, Runner, webSearchTool } from '@openai/agents';
import { OpenRouter } from '@openrouter/sdk';
import { generateText, streamText } from 'ai';
import type OpenAI from 'openai';
import type { Json } from '../../src/core/json/json.ts';
import { frame, named } from '../conformance/answers.ts';
import {
  answerEvents,
  answerJson,
  HEADERS,
  KEY,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from '../gateway/harness.ts';
import { assertResponse } from '../validators/response-object.ts';
import { checkResponsesStream } from '../validators/responses.ts';
import { judge, rejection } from './judge.ts';
import { openaiClients, openaiOf } from './openai.ts';

const QUERY = 'Wetter Zürich';
const PAGES = ['https://example.com/wetter', 'https://example.org/zürich'];
const TEXT = 'Sonnig. 🦊';

const RESULTS = PAGES.map((url) => ({ type: 'web_search_result', url, title: 'Wetter', encrypted_content: 'c' }));
const CITED = { type: 'web_search_result_location', url: PAGES[0], title: 'Wetter', cited_text: 'Sonne' };
const TAIL = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };
const COUNTS = { input_tokens: 10, output_tokens: 5, server_tool_use: { web_search_requests: 1 } };

function blocks(failed: boolean): Json[] {
  const content = failed ? { type: 'web_search_tool_result_error', error_code: 'unavailable' } : RESULTS;
  return [
    { type: 'text', text: 'I look.' },
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: QUERY } },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content },
    { type: 'text', text: TEXT, citations: [CITED] },
  ];
}

function messagesStream(failed: boolean): string {
  const [, , result] = blocks(failed);
  const input = JSON.stringify({ query: QUERY });
  const contents: [Json, Json[]][] = [
    [{ type: 'text', text: '' }, [{ type: 'text_delta', text: 'I look.' }]],
    [
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
      [input.slice(0, 9), input.slice(9)].map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    ],
    [result, []],
    [
      { type: 'text', text: '', citations: [] },
      [
        { type: 'text_delta', text: TEXT },
        { type: 'citations_delta', citation: CITED },
      ],
    ],
  ];
  return [
    { type: 'message_start', message: { ...TAIL, content: [], stop_reason: null, usage: COUNTS } },
    ...contents.flatMap(([content_block, deltas], index) => [
      { type: 'content_block_start', index, content_block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: COUNTS },
    { type: 'message_stop' },
  ]
    .map(named)
    .join('');
}

const GROUNDING = {
  webSearchQueries: [QUERY],
  groundingChunks: PAGES.map((uri) => ({ web: { uri, title: 'Wetter' } })),
  groundingSupports: [{ segment: { startIndex: 0, endIndex: 7, text: 'Sonnig.' }, groundingChunkIndices: [0] }],
};

function chunk(text: string, more: Json): Json {
  const candidate = { index: 0, content: { role: 'model', parts: [{ text }] }, ...more };
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
  return { candidates: [candidate], modelVersion: 'm', responseId: 'r1', usageMetadata };
}

let upstream: TestUpstream;
const gateways: Record<'drop' | 'refuse', TestGateway> = {} as Record<'drop' | 'refuse', TestGateway>;

before(async () => {
  upstream = await startUpstream(({ path, body }, response) => {
    const failed = JSON.stringify(body).includes('in vain');
    if (path.includes('/chat/'))
      answerJson(response, { choices: [{ message: { content: TEXT }, finish_reason: 'stop' }] });
    else if (path.includes(':stream'))
      answerEvents(
        response,
        [chunk('Sonnig', {}), chunk('. 🦊', { finishReason: 'STOP', groundingMetadata: GROUNDING })]
          .map(frame)
          .join(''),
      );
    else if (path.includes('/models/'))
      answerJson(response, chunk(TEXT, { finishReason: 'STOP', groundingMetadata: GROUNDING }));
    else if (body.stream) answerEvents(response, messagesStream(failed));
    else answerJson(response, { ...TAIL, content: blocks(failed), stop_reason: 'end_turn', usage: COUNTS });
  });
  for (const hosted of ['drop', 'refuse'] as const)
    gateways[hosted] = await startTestGateway(`
responses: { hosted_tools: ${hosted} }
providers:
  chat: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m, rules: { web_search: false } }] }
  messages: { type: anthropic, base_url: "${upstream.url}", api_key: k, models: [{ id: m }, { id: blind, rules: { web_search: false } }] }
  generate: { type: google, base_url: "${upstream.url}", api_key: k, models: [{ id: m }, { id: blind, rules: { web_search: false } }] }
`);
});
after(async () => {
  for (const gateway of Object.values(gateways)) await gateway.close();
  await upstream.close();
});

const connection = (hosted: 'drop' | 'refuse') => () => ({ url: gateways[hosted].url, key: KEY });
const search: OpenAI.Responses.WebSearchTool = { type: 'web_search' };
const look: OpenAI.Responses.FunctionTool = { type: 'function', name: 'look', parameters: {}, strict: false };

/** A search in the output of an answer, and the text that cites a page. */
function foundIn({ output }: OpenAI.Responses.Response) {
  const calls = output.filter((item) => item.type === 'web_search_call');
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []));
  const [cited] = parts.flatMap((part) => (part.type === 'output_text' ? part.annotations : []));
  const [call] = calls;
  assert.ok(calls.length === 1 && call?.action.type === 'search');
  assert.ok(cited?.type === 'url_citation');
  return { status: call.status, ...call.action, cited: cited.url, kinds: output.map(({ type }) => type) };
}

const KINDS = {
  messages: ['message', 'web_search_call', 'message'],
  generate: ['message', 'web_search_call'],
} as const;

for (const protocol of ['messages', 'generate'] as const) {
  describe(`a search that a model of ${protocol} made (checklist 101)`, () => {
    const asked = { model: `${protocol}/m`, input: 'Weather?', tools: [search] };

    judge(openaiClients(connection('drop')), {
      'is an item, whole and streamed': async (client) => {
        for (const response of [
          await client.responses.create(asked),
          await client.responses.stream(asked).finalResponse(),
        ]) {
          assert.deepEqual(foundIn(response), {
            ...{ status: 'completed', type: 'search', query: QUERY, queries: [QUERY] },
            ...{ cited: PAGES[0], kinds: KINDS[protocol] },
          });
          assert.ok(response.output_text.endsWith(TEXT));
        }
      },

      'has the pages that were found, if they are asked for': async (client) => {
        const params = { ...asked, include: ['web_search_call.action.sources' as const] };
        const sources = PAGES.map((url) => ({ type: 'url', url }));
        for (const response of [
          await client.responses.create(params),
          await client.responses.stream(params).finalResponse(),
        ])
          assert.deepEqual(foundIn(response).sources, sources);
      },

      'stands in a history, and is named as left out': async (client) => {
        const { output } = await client.responses.create(asked);
        const input: Json = [
          { role: 'user' as const, content: 'Weather?' },
          ...output,
          { role: 'user' as const, content: 'Sure?' },
        ];
        const { response } = await client.responses.create({ ...asked, input }).withResponse();
        assert.match(response.headers.get('x-polygate-dropped') ?? '', /input\.web_search_call/);
      },
    });

    test('is told in the order of events', async () => {
      const body = { ...asked, stream: true };
      const response = await post(`${gateways.drop.url}/v1/responses`, body, HEADERS.chat);
      const { data } = checkResponsesStream(await response.text());
      const steps = data.filter(({ type }) => type.includes('web_search')).map(({ type }) => type.split('.').at(-1));
      assert.deepEqual(steps, ['in_progress', 'searching', 'completed']);
      assertResponse(data.at(-1).response);
    });
  });
}

describe('other clients read a search', () => {
  for (const protocol of ['messages', 'generate'] as const) {
    const model = `${protocol}/m`;

    for (const stream of [false, true]) {
      const way = stream ? 'streamed' : 'whole';

      test(`@ai-sdk/openai over ${protocol}, ${way}`, async () => {
        const openai = createOpenAI({ baseURL: `${gateways.drop.url}/v1`, apiKey: KEY });
        const params = { model: openai(model), prompt: 'Weather?', tools: { web_search: openai.tools.webSearch({}) } };
        const running = stream ? streamText(params) : await generateText(params);
        const [call] = await running.toolCalls;
        assert.deepEqual([call?.toolName, call?.providerExecuted], ['web_search', true]);
        assert.ok((await running.text).endsWith(TEXT));
        const sources: Json[] = await running.sources;
        assert.ok(sources.some(({ url }) => url === PAGES[0]));
      });

      test(`@openai/agents over ${protocol}, ${way}`, async () => {
        const client = openaiClients(connection('drop'))['openai 7']?.() as OpenAI;
        const agent = new Agent({
          name: 'a',
          model: new OpenAIResponsesModel(client, model),
          tools: [webSearchTool()],
        });
        const runner = new Runner({ tracingDisabled: true });
        const result = stream
          ? await runner.run(agent, 'Weather?', { stream: true })
          : await runner.run(agent, 'Weather?');
        if ('completed' in result) await result.completed;
        const items = result.rawResponses.flatMap(({ output }) => output);
        assert.ok(items.some(({ type }) => type === 'hosted_tool_call'));
        assert.ok(String(result.finalOutput).endsWith(TEXT));
      });

      test(`@openrouter/sdk over ${protocol}, ${way}`, async () => {
        const { beta } = new OpenRouter({ apiKey: KEY, serverURL: `${gateways.drop.url}/v1` });
        const request = { model, input: 'Weather?', tools: [{ type: 'web_search' as const }] };
        const answer: Json = await beta.responses.send({ responsesRequest: { ...request, stream } as Json });
        const events: Json[] = stream ? await Array.fromAsync(answer as AsyncIterable<Json>) : [{ response: answer }];
        const { output } = events.at(-1).response;
        assert.ok(output.some(({ type }: Json) => type === 'web_search_call'));
      });
    }
  }
});

test('a search in vain has failed', async () => {
  for (const stream of [false, true]) {
    const body = { model: 'messages/m', input: 'in vain', tools: [search], stream };
    const response = await post(`${gateways.drop.url}/v1/responses`, body, HEADERS.chat);
    const text = await response.text();
    const { output } = stream ? checkResponsesStream(text).data.at(-1).response : JSON.parse(text);
    assert.equal(output[1].status, 'failed');
  }
});

describe('responses.hosted_tools: web search beside other tools, for a model that has none (checklist 101)', () => {
  for (const model of ['chat/m', 'messages/blind', 'generate/blind']) {
    judge(openaiClients(connection('drop')), {
      [`drop leaves it out at ${model}, and names it`]: async (client) => {
        const params = { model, input: 'Weather?', tools: [search, look] };
        const { response } = await client.responses.create(params).withResponse();
        assert.match(response.headers.get('x-polygate-dropped') ?? '', /tools\.web_search/);
        const { BadRequestError } = openaiOf(client);
        await rejection(client.responses.create({ ...params, tools: [search] }), BadRequestError);
      },
    });
    judge(openaiClients(connection('refuse')), {
      [`refuse refuses it at ${model}, with a request of its own shape`]: async (client) => {
        const { BadRequestError } = openaiOf(client);
        const sent = upstream.calls.length;
        const params = { model, input: 'Weather?', tools: [search, look] };
        const error = await rejection(client.responses.create(params), BadRequestError);
        assert.deepEqual([error.code, error.param], ['unsupported_tool', 'tools.web_search']);
        assert.equal(upstream.calls.length, sent);
        await client.responses.create({ ...params, tools: [look] });
      },
    });
  }

  test('a model that searches is asked to, with either setting', async () => {
    for (const gateway of Object.values(gateways)) {
      const body = { model: 'messages/m', input: 'Weather?', tools: [search, look] };
      const response = await post(`${gateway.url}/v1/responses`, body, HEADERS.chat);
      assert.equal(response.status, 200);
      assert.equal(upstream.calls.at(-1)?.body.tools.length, 2);
    }
  });
});
