/** The official chat completions SDK against the sandbox: everything that succeeds. */

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type OpenAI from 'openai';
import { standardResponseFormat } from 'openai/helpers/standard-schema';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { collect, GREETING, judge, ODD, PDF, PERSON, PNG } from './judge.ts';
import { openaiClients } from './openai.ts';

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGatewayProcess();
});
after(() => gateway.close());

type Message = OpenAI.ChatCompletionMessageParam;
type Part = OpenAI.ChatCompletionContentPart;

const user = (content: string | Part[]): Message[] => [{ role: 'user', content }];

function answerTo(
  client: OpenAI,
  content: string | Part[],
  more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming> = {},
) {
  return client.chat.completions.create({ model: 'sandbox/echo', messages: user(content), ...more });
}

async function textOf(
  client: OpenAI,
  content: string | Part[],
  more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming> = {},
) {
  return (await answerTo(client, content, more)).choices[0]?.message.content;
}

judge(
  openaiClients(() => gateway),
  {
    'text comes back whole, with the gateway’s model name and a request id (checklist 14, 16)': async (client) => {
      const answer = await answerTo(client, ODD);
      assert.equal(answer.choices[0]?.message.content, ODD);
      assert.equal(answer.choices[0]?.finish_reason, 'stop');
      assert.equal(answer.model, 'sandbox/echo');
      assert.match(answer._request_id ?? '', /^req_/);
    },

    'usage is what the model counted (checklist 19)': async (client) => {
      const { usage } = await answerTo(client, GREETING);
      assert.deepEqual([usage?.prompt_tokens, usage?.completion_tokens, usage?.total_tokens], [4, 4, 8]);
    },

    'a stream’s deltas are the text; its usage comes once, when asked for (checklist 23-26)': async (client) => {
      const params = { model: 'sandbox/echo', messages: user(ODD), stream: true } as const;
      const chunks: OpenAI.ChatCompletionChunk[] = [];
      for await (const chunk of await client.chat.completions.create({
        ...params,
        stream_options: { include_usage: true },
      }))
        chunks.push(chunk);
      assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''), ODD);
      assert.equal(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size, 1);
      assert.equal(chunks[0]?.choices[0]?.delta.role, 'assistant');
      assert.deepEqual(chunks.flatMap(({ choices }) => choices.map((choice) => choice.finish_reason ?? [])).flat(), [
        'stop',
      ]);
      assert.deepEqual(chunks.map(({ usage }) => Boolean(usage)).indexOf(true), chunks.length - 1);
      const silent = await client.chat.completions.create(params);
      for await (const chunk of silent) assert.equal(chunk.usage ?? null, null);
    },

    'the stream helper makes a whole answer of text (checklist 31)': async (client) => {
      const stream = client.chat.completions.stream({
        model: 'sandbox/echo',
        messages: user(ODD),
        stream_options: { include_usage: true },
      });
      const pieces: string[] = [];
      stream.on('content.delta', ({ delta }) => pieces.push(delta));
      const answer = await stream.finalChatCompletion();
      assert.equal(pieces.join(''), ODD);
      assert.equal(answer.choices[0]?.message.content, ODD);
      assert.equal(answer.usage?.completion_tokens, answer.usage?.prompt_tokens);
    },

    'reasoning is visible and counted, and the stream helper copes with it (checklist 19, 31)': async (client) => {
      const params = { model: 'sandbox/reasoner', messages: user('one two'), reasoning_effort: 'low' } as const;
      const answer = await client.chat.completions.create(params);
      const message = answer.choices[0]?.message as { reasoning?: string; content: string | null } | undefined;
      assert.equal(message?.reasoning, 'Step 1: the user wrote "one".\nStep 2: the user wrote "two".');
      assert.equal(message.content, 'one two');
      assert((answer.usage?.completion_tokens_details?.reasoning_tokens ?? 0) > 10);
      const streamed = await client.chat.completions.stream(params).finalChatCompletion();
      assert.equal(streamed.choices[0]?.message.content, 'one two');
    },

    'JSON mode gives JSON': async (client) => {
      const text = await textOf(client, 'hi', { response_format: { type: 'json_object' } });
      assert.deepEqual(JSON.parse(text ?? ''), { text: 'hi' });
    },

    'a JSON Schema is kept to, and the SDK’s parser takes the answer whole and streamed': async (client) => {
      const response_format = standardResponseFormat(
        { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } },
        'person',
        { schema: { ...PERSON } },
      );
      const params = { model: 'sandbox/echo', messages: user('Ada'), response_format };
      const parsed = (await client.chat.completions.parse(params)).choices[0]?.message.parsed as {
        name: string;
        age: number;
      };
      assert.equal(parsed.name, 'Ada');
      assert.equal(typeof parsed.age, 'number');
      const streamed = (await client.chat.completions.stream(params).finalChatCompletion()).choices[0]?.message.parsed;
      assert.deepEqual(streamed, parsed);
    },

    'images and files reach the model': async (client) => {
      const text = await textOf(client, [
        { type: 'text', text: 'See' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}`, detail: 'low' } },
        { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
        { type: 'input_audio', input_audio: { data: PNG, format: 'wav' } },
      ]);
      assert.equal(
        text,
        'See\n[image image/png, 8 bytes]\n[image https://example.com/a.png]\n[document a.pdf application/pdf, 15 bytes]\n[audio audio/wav, 8 bytes]',
      );
    },

    'n gives as many answers, whole and streamed': async (client) => {
      const { choices } = await answerTo(client, 'twice', { n: 2 });
      assert.deepEqual(
        choices.map(({ index, message }) => [index, message.content]),
        [
          [0, 'twice'],
          [1, 'twice'],
        ],
      );
      const params = { model: 'sandbox/echo', messages: user('twice'), n: 2 };
      const streamed = await client.chat.completions.stream(params).finalChatCompletion();
      assert.deepEqual(
        streamed.choices.map(({ message }) => message.content),
        ['twice', 'twice'],
      );
    },

    'log probabilities stand by every token': async (client) => {
      const params = { model: 'sandbox/echo', messages: user(GREETING), logprobs: true, top_logprobs: 1 };
      const { choices } = await client.chat.completions.create(params);
      assert.equal(choices[0]?.logprobs?.content?.map(({ token }) => token).join(''), GREETING);
      const streamed = await client.chat.completions.stream(params).finalChatCompletion();
      assert.equal(streamed.choices[0]?.logprobs?.content?.length, 4);
    },

    'stop sequences end the text, as a string and as a list (checklist 22)': async (client) => {
      for (const stop of ['three', ['x', 'three']]) {
        const { choices } = await answerTo(client, 'one two three four', { stop });
        assert.equal(choices[0]?.message.content, 'one two ');
        assert.equal(choices[0]?.finish_reason, 'stop');
      }
    },

    'the token limit ends with length, under both of its names (checklist 21)': async (client) => {
      for (const limit of [{ max_tokens: 2 }, { max_completion_tokens: 2 }]) {
        const { choices } = await answerTo(client, 'one two three four', limit);
        assert.equal(choices[0]?.message.content, 'one two');
        assert.equal(choices[0]?.finish_reason, 'length');
      }
    },

    'a long conversation with system, developer and assistant turns is taken': async (client) => {
      const messages: Message[] = [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: [{ type: 'text', text: 'Be briefer.' }] },
        ...user('first'),
        { role: 'assistant', content: [{ type: 'text', text: 'yes' }] },
        ...user('second'),
      ];
      const { choices } = await client.chat.completions.create({ model: 'sandbox/echo', messages });
      assert.equal(choices[0]?.message.content, 'second');
    },

    'the model list is paged by the SDK and a model is found by its id (checklist 10, 86, 87)': async (client) => {
      const ids = new Set<string>();
      for await (const model of client.models.list()) ids.add(model.id);
      assert(ids.has('sandbox/echo') && ids.has('sandbox/faulty'));
      const { response } = await client.models.list().withResponse();
      assert.match(response.headers.get('content-encoding') ?? '', /^(br|gzip)$/);
      const model = await client.models.retrieve('sandbox/echo');
      assert.deepEqual([model.id, model.object, model.owned_by], ['sandbox/echo', 'model', 'sandbox']);
    },

    'the raw response has the request id, and a stream is typed as one (checklist 14)': async (client) => {
      const { data, response, request_id } = await client.chat.completions
        .create({ model: 'sandbox/echo', messages: user('hi'), stream: true })
        .withResponse();
      assert.equal(await collect(data, (chunk) => chunk.choices[0]?.delta.content), 'hi');
      assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
      assert.match(request_id ?? '', /^req_/);
    },
  },
);
