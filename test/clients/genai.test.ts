/** The official generateContent SDK against the sandbox: everything that succeeds (checklist 58). */

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import {
  type CallableTool,
  type Content,
  type ContentListUnion,
  FunctionCallingConfigMode,
  type FunctionDeclaration,
  type GenerateContentConfig,
  type GenerateContentResponse,
  type GoogleGenAI,
  ThinkingLevel,
  Type,
} from '@google/genai';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { genaiClients } from './genai.ts';
import { collect, GREETING, judge, ODD, PDF, PERSON, PNG, WEATHER, WEATHER_ARGS } from './judge.ts';

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGatewayProcess();
});
after(() => gateway.close());

const weather: FunctionDeclaration = { name: 'weather', parametersJsonSchema: WEATHER };
const clock: FunctionDeclaration = { name: 'clock', description: 'The time' };
const TOOLS = [{ functionDeclarations: [weather, clock] }];

interface Asked {
  client: GoogleGenAI;
  model?: string;
  contents: ContentListUnion;
  config?: GenerateContentConfig;
}

function ask({ client, model = 'sandbox/echo', contents, config }: Asked): Promise<GenerateContentResponse> {
  return client.models.generateContent({ model, contents, config });
}

/** All chunks of a streamed answer. */
async function streamed({
  client,
  model = 'sandbox/echo',
  contents,
  config,
}: Asked): Promise<GenerateContentResponse[]> {
  const chunks: GenerateContentResponse[] = [];
  for await (const chunk of await client.models.generateContentStream({ model, contents, config })) chunks.push(chunk);
  return chunks;
}

/** What the model says, thoughts apart, which older versions do not tell apart themselves. */
function said(response: GenerateContentResponse, thought = false): string {
  const parts = response.candidates?.[0]?.content?.parts ?? [];
  return parts.map((part) => (Boolean(part.thought) === thought ? (part.text ?? '') : '')).join('');
}

function finishOf(response: GenerateContentResponse | undefined): unknown {
  return response?.candidates?.[0]?.finishReason;
}

judge(
  genaiClients(() => gateway),
  {
    'text comes back whole, with the gateway’s model name and a request id (checklist 7, 14)': async (client) => {
      const answer = await ask({ client, contents: ODD });
      assert.equal(answer.text, ODD);
      assert.equal(finishOf(answer), 'STOP');
      assert.equal(answer.modelVersion, 'sandbox/echo');
      assert.match(JSON.stringify(answer.sdkHttpResponse?.headers), /req_/);
    },

    'usage is what the model counted, whole and streamed (checklist 50, 56)': async (client) => {
      const whole = await ask({ client, contents: GREETING });
      const last = (await streamed({ client, contents: GREETING })).at(-1);
      for (const usage of [whole.usageMetadata, last?.usageMetadata])
        assert.deepEqual([usage?.promptTokenCount, usage?.candidatesTokenCount, usage?.totalTokenCount], [4, 4, 8]);
    },

    'a stream’s chunks are the text, the last one says why it ended (checklist 48, 50)': async (client) => {
      const chunks = await streamed({ client, contents: ODD });
      assert(chunks.length > 3);
      assert.equal(chunks.map((chunk) => said(chunk)).join(''), ODD);
      assert.deepEqual([finishOf(chunks[0]), finishOf(chunks.at(-1))], [undefined, 'STOP']);
      for (const chunk of chunks) assert.equal(chunk.candidates?.[0]?.content?.role, 'model');
    },

    'a tool loop: call, result, answer (checklist 51)': async (client) => {
      const contents: Content[] = [{ role: 'user', parts: [{ text: 'How is the weather?' }] }];
      const params = { client, model: 'sandbox/tools', contents, config: { tools: TOOLS } };
      const first = await ask(params);
      const [call] = first.functionCalls ?? [];
      assert.deepEqual([call?.name, call?.args, finishOf(first)], ['weather', WEATHER_ARGS, 'STOP']);
      contents.push(first.candidates?.[0]?.content ?? {}, {
        role: 'user',
        parts: [{ functionResponse: { id: call?.id, name: 'weather', response: { output: 'sunny' } } }],
      });
      assert.equal((await ask(params)).text, 'weather answered: sunny');
    },

    'a chat keeps the conversation, whole and streamed': async (client) => {
      const chat = client.chats.create({ model: 'sandbox/tools', config: { tools: TOOLS } });
      const [call] = (await chat.sendMessage({ message: 'Go' })).functionCalls ?? [];
      const functionResponse = { id: call?.id, name: call?.name, response: { output: 'rain' } };
      const answer = await chat.sendMessageStream({ message: { functionResponse } });
      assert.equal(await collect(answer, (chunk) => said(chunk)), 'weather answered: rain');
      assert.equal((await chat.sendMessage({ message: 'Again' })).functionCalls?.[0]?.name, 'weather');
    },

    'the SDK runs the tools itself, whole and streamed': async (client) => {
      const ran: unknown[] = [];
      const tool: CallableTool = {
        tool: async () => ({ functionDeclarations: [weather, clock] }),
        async callTool(calls) {
          ran.push(...calls.map(({ name, args }) => [name, typeof args]));
          return calls.map(({ id, name = '' }) => ({ functionResponse: { id, name, response: { output: 'rain' } } }));
        },
      };
      const params = { client, model: 'sandbox/tools', contents: 'All in parallel', config: { tools: [tool] } };
      const whole = await ask(params);
      const chunks = await streamed(params);
      assert.equal(whole.text, 'weather answered: rain\nclock answered: rain');
      assert.equal(chunks.map((chunk) => said(chunk)).join(''), whole.text);
      const round = [
        ['weather', 'object'],
        ['clock', 'object'],
      ];
      assert.deepEqual(ran, [...round, ...round]);
      assert.equal(whole.automaticFunctionCallingHistory?.length, 3);
    },

    'parallel calls arrive whole and streamed, each with an id (checklist 51)': async (client) => {
      const params = { client, model: 'sandbox/tools', contents: 'All in parallel', config: { tools: TOOLS } };
      const whole = (await ask(params)).functionCalls ?? [];
      const pieces = (await streamed(params)).flatMap(({ functionCalls }) => functionCalls ?? []);
      for (const calls of [whole, pieces]) {
        assert.deepEqual(
          calls.map(({ name }) => name),
          ['weather', 'clock'],
        );
        assert.deepEqual(calls[0]?.args, WEATHER_ARGS);
        assert.equal(new Set(calls.map(({ id }) => id)).size, 2);
      }
    },

    'the function calling mode is obeyed: any, named, none': async (client) => {
      const called = async (functionCallingConfig: {
        mode: FunctionCallingConfigMode;
        allowedFunctionNames?: string[];
      }) => {
        const config = { tools: TOOLS, toolConfig: { functionCallingConfig } };
        const { functionCalls } = await ask({ client, model: 'sandbox/tools', contents: 'Go', config });
        return functionCalls?.map(({ name }) => name);
      };
      const { ANY, NONE } = FunctionCallingConfigMode;
      assert.deepEqual(await called({ mode: ANY }), ['weather']);
      assert.deepEqual(await called({ mode: ANY, allowedFunctionNames: ['clock'] }), ['clock']);
      assert.equal(await called({ mode: NONE }), undefined);
    },

    'thoughts are parts of their own and counted apart, whole and streamed (checklist 56)': async (client) => {
      const config = { thinkingConfig: { includeThoughts: true, thinkingLevel: ThinkingLevel.LOW } };
      const params = { client, model: 'sandbox/reasoner', contents: 'one two', config };
      const whole = await ask(params);
      const chunks = await streamed(params);
      const thoughts = 'Step 1: the user wrote "one".\nStep 2: the user wrote "two".';
      assert.deepEqual([said(whole, true), said(whole)], [thoughts, 'one two']);
      assert.equal(chunks.map((chunk) => said(chunk, true)).join(''), thoughts);
      assert.equal(chunks.map((chunk) => said(chunk)).join(''), 'one two');
      for (const usage of [whole.usageMetadata, chunks.at(-1)?.usageMetadata]) {
        const { promptTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount = 0, totalTokenCount } = usage ?? {};
        assert(thoughtsTokenCount > 10);
        assert.equal(candidatesTokenCount, 2);
        assert.equal(totalTokenCount, promptTokenCount + candidatesTokenCount + thoughtsTokenCount);
      }
    },

    'JSON mode gives JSON, and a JSON Schema is kept to, in both of its spellings': async (client) => {
      const json = async (config: GenerateContentConfig) =>
        JSON.parse(
          (await ask({ client, contents: 'Ada', config: { responseMimeType: 'application/json', ...config } })).text ??
            '',
        );
      assert.deepEqual(await json({}), { text: 'Ada' });
      const upper = {
        type: Type.OBJECT,
        properties: { name: { type: Type.STRING }, age: { type: Type.INTEGER } },
        required: ['name', 'age'],
      };
      for (const config of [{ responseJsonSchema: PERSON }, { responseSchema: upper }]) {
        const person = await json(config);
        assert.equal(person.name, 'Ada');
        assert.equal(typeof person.age, 'number');
      }
    },

    'images, documents, audio and video reach the model': async (client) => {
      const inline = (mimeType: string, data: string) => ({ inlineData: { mimeType, data } });
      const contents = [
        { text: 'See' },
        inline('image/png', PNG),
        inline('application/pdf', PDF),
        inline('audio/wav', PNG),
        { fileData: { fileUri: 'https://example.com/a.png', mimeType: 'image/png' } },
      ];
      const text = (await ask({ client, contents })).text ?? '';
      for (const label of [
        '[image image/png, 8 bytes]',
        'application/pdf, 15 bytes]',
        '[audio audio/wav, 8 bytes]',
        '[image https://example.com/a.png]',
      ])
        assert(text.includes(label), text);
    },

    'several candidates are as many answers': async (client) => {
      const { candidates } = await ask({ client, contents: 'twice', config: { candidateCount: 2 } });
      assert.deepEqual(
        candidates?.map(({ content }) => content?.parts?.[0]?.text),
        ['twice', 'twice'],
      );
    },

    'log probabilities stand by every token': async (client) => {
      const { candidates } = await ask({ client, contents: GREETING, config: { responseLogprobs: true, logprobs: 1 } });
      assert.equal(candidates?.[0]?.logprobsResult?.chosenCandidates?.map(({ token }) => token).join(''), GREETING);
    },

    'stop sequences and the token limit end the text': async (client) => {
      const contents = 'one two three four';
      const stopped = await ask({ client, contents, config: { stopSequences: ['three'] } });
      assert.deepEqual([stopped.text, finishOf(stopped)], ['one two ', 'STOP']);
      const cut = await ask({ client, contents, config: { maxOutputTokens: 2 } });
      assert.deepEqual([cut.text, finishOf(cut)], ['one two', 'MAX_TOKENS']);
    },

    'a system instruction, sampling and safety settings are taken': async (client) => {
      const config = {
        systemInstruction: 'Be brief.',
        temperature: 1.5,
        topP: 0.9,
        topK: 40,
        seed: 1,
        safetySettings: [],
      };
      assert.equal((await ask({ client, contents: 'hi', config })).text, 'hi');
    },

    'tokens are counted (checklist 57)': async (client) => {
      const { totalTokens } = await client.models.countTokens({ model: 'sandbox/echo', contents: GREETING });
      assert((totalTokens ?? 0) >= 4);
    },

    'the model list is paged by the SDK and a model is found by its id (checklist 86, 87)': async (client) => {
      const names: (string | undefined)[] = [];
      for await (const model of await client.models.list({ config: { pageSize: 2, queryBase: true } }))
        names.push(model.name);
      assert.equal(new Set(names).size, names.length);
      for (const id of ['echo', 'faulty', 'reasoner', 'tools']) assert(names.includes(`models/sandbox/${id}`));
      const model = await client.models.get({ model: 'sandbox/echo' });
      assert.deepEqual([model.name, model.displayName], ['models/sandbox/echo', 'Sandbox Echo (no AI)']);
      assert(model.supportedActions?.includes('generateContent'));
    },
  },
);
