/** The official SDK, and the AI SDK's default model, on the Responses protocol: what a provider answers, read through a relay. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, streamText } from 'ai';
import type OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import type { Json } from '../../src/core/json/json.ts';
import {
  answerEvents,
  answerJson,
  KEY,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from '../gateway/harness.ts';
import { eventsOf, FAILED, frame, MESSAGE, preambleOf, streamOf, USAGE, WHOLE } from '../protocols/responses-wire.ts';
import { judge, ODD, rejection } from './judge.ts';
import { openaiClients, openaiOf } from './openai.ts';

const MODEL = 'a/m-2026';
const Person = z.object({ name: z.string(), age: z.number() });
const CALL: Json = {
  ...{ id: 'fc_1', type: 'function_call', status: 'completed', call_id: 'call_1', name: 'weather' },
  arguments: '{"city":"Z\u00fcrich"}',
};

let upstream: TestUpstream;
let gateway: TestGateway;

/** The text of the answer: JSON where a format is asked for. */
function textFor({ text }: Json): string {
  return text?.format?.type === 'json_schema' ? '{"name":"Ada","age":36}' : ODD;
}

function itemsFor(body: Json): Json[] {
  if (body.tools) return [CALL];
  return [{ ...MESSAGE, content: [{ type: 'output_text', text: textFor(body), annotations: [], logprobs: [] }] }];
}

function callEvents(): Json[] {
  const { arguments: args, ...rest } = CALL;
  const place = { item_id: CALL.id, output_index: 0 };
  const events: Json[] = [
    ...preambleOf(),
    { type: 'response.output_item.added', output_index: 0, item: { ...rest, status: 'in_progress', arguments: '' } },
    ...[...args].map((delta) => ({ type: 'response.function_call_arguments.delta', ...place, delta })),
    { type: 'response.function_call_arguments.done', ...place, name: CALL.name, arguments: args },
    { type: 'response.output_item.done', output_index: 0, item: CALL },
    { type: 'response.completed', response: { ...WHOLE, output: [CALL] } },
  ];
  return events.map((event, index) => ({ ...event, sequence_number: index }));
}

before(async () => {
  upstream = await startUpstream(({ body }, response) => {
    if (JSON.stringify(body.input).includes('break')) {
      const started = eventsOf('Hello').slice(0, 9);
      answerEvents(response, [...started, { ...FAILED, sequence_number: 9 }].map(frame).join(''));
    } else if (!body.stream) answerJson(response, { ...WHOLE, output: itemsFor(body) });
    else answerEvents(response, body.tools ? callEvents().map(frame).join('') : streamOf(textFor(body)));
  });
  gateway = await startTestGateway(
    `providers: { a: { type: openai, base_url: "${upstream.url}/v1", api_key: k, models: [{ id: m-2026 }] } }`,
  );
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const asked = { model: MODEL, input: 'Hi' };
const tools: OpenAI.Responses.Tool[] = [
  { type: 'function', name: 'weather', parameters: { type: 'object', properties: {} }, strict: false },
];

judge(
  openaiClients(() => ({ url: gateway.url, key: KEY })),
  {
    'create reads text, usage, ids and the gateway’s model name (checklist 92)': async (client) => {
      const response = await client.responses.create(asked);
      assert.equal(response.output_text, ODD);
      assert.deepEqual([response.id, response.model, response.status], ['resp_1', MODEL, 'completed']);
      assert.equal(response.usage?.total_tokens, USAGE.total_tokens);
      assert.match(response._request_id ?? '', /^req_/);
    },

    'a stream has every event in order': async (client) => {
      const types: string[] = [];
      let text = '';
      for await (const event of await client.responses.create({ ...asked, stream: true })) {
        types.push(event.type);
        if (event.type === 'response.output_text.delta') text += event.delta;
        if ('response' in event) assert.equal(event.response.model, MODEL);
      }
      assert.equal(text, ODD);
      assert.deepEqual(
        types,
        eventsOf(ODD).map(({ type }) => type),
      );
    },

    'the stream helper puts the answer together': async (client) => {
      const stream = client.responses.stream(asked);
      const response = await stream.finalResponse();
      assert.equal(response.output_text, ODD);
      assert.equal(response.model, MODEL);
    },

    'parse reads the format that was asked for, whole and streamed': async (client) => {
      const text = { format: zodTextFormat(Person, 'person') };
      const whole = await client.responses.parse({ ...asked, text });
      assert.deepEqual(whole.output_parsed, { name: 'Ada', age: 36 });
      const streamed = await client.responses.stream({ ...asked, text }).finalResponse();
      assert.deepEqual(streamed.output_parsed, { name: 'Ada', age: 36 });
    },

    'a call comes back with its arguments, whole and streamed': async (client) => {
      const whole = await client.responses.create({ ...asked, tools });
      const streamed = await client.responses.stream({ ...asked, tools }).finalResponse();
      for (const { output } of [whole, streamed]) {
        const [call] = output;
        assert.ok(call?.type === 'function_call');
        assert.deepEqual([call.call_id, call.name, call.arguments], ['call_1', 'weather', CALL.arguments]);
      }
    },

    'a failure in a stream is a failed response with its message': async (client) => {
      const response = await client.responses.stream({ ...asked, input: 'break' }).finalResponse();
      assert.equal(response.status, 'failed');
      assert.match(response.error?.message ?? '', /The model broke/);
    },

    'errors are the SDK’s own, and name the field': async (client) => {
      const { BadRequestError, AuthenticationError, NotFoundError } = openaiOf(client);
      const error = await rejection(
        client.responses.create({ ...asked, previous_response_id: 'resp_unknown' }),
        BadRequestError,
      );
      assert.deepEqual([error.code, error.param], ['previous_response_not_found', 'previous_response_id']);
      await rejection(client.withOptions({ apiKey: 'sk-wrong' }).responses.create(asked), AuthenticationError);
      await rejection(client.responses.create({ ...asked, model: 'a/none' }), NotFoundError);
      await rejection(client.responses.retrieve('resp_unknown'), NotFoundError);
    },
  },
);

test('the default model of @ai-sdk/openai, with store: false', async () => {
  const openai = createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY });
  const options = { model: openai(MODEL), prompt: 'Hi', providerOptions: { openai: { store: false } } };
  const { text, usage } = await generateText(options);
  assert.deepEqual([text, usage.totalTokens], [ODD, USAGE.total_tokens]);
  assert.equal(upstream.calls.at(-1)?.body.store, false);
  assert.equal(await streamText(options).text, ODD);
});
