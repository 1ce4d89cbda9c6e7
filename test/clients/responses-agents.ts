/** Agents of three turns over the Responses protocol, as the users of each client write them, without stored responses. */

import { createOpenAI } from '@ai-sdk/openai';
import { HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { Agent as OpenAIAgent, OpenAIResponsesModel, Runner, tool } from '@openai/agents';
import { OpenRouter } from '@openrouter/sdk';
import type { InputsUnion, OpenResponsesResult } from '@openrouter/sdk/models';
import { generateText, isStepCount, streamText } from 'ai';
import type OpenAI from 'openai';
import type { Json } from '../../src/core/json/json.ts';
import { type Agent, aiTools, CITY, langChainTools, NOTHING } from './agents.ts';
import type { GatewayProcess } from './gateway-process.ts';
import { answerOf } from './langchain.ts';
import { openaiClients } from './openai.ts';

type Connection = Pick<GatewayProcess, 'url' | 'key'>;
export type RunAgent = (model: string, stream: boolean) => Promise<Agent>;

const PROMPT = 'Weather?';
const MAX_TURNS = 4;

const RESULTS: Record<string, (args: Json) => string> = {
  weather: ({ city }) => `sunny in ${city}`,
  clock: () => 'noon',
};

/** Every client by its name. */
export function responsesAgents(gateway: () => Connection): Record<string, RunAgent> {
  const sdks = Object.entries(openaiClients(gateway)).map(([name, connect]): [string, RunAgent] => [
    name,
    (model, stream) => openaiAgent(connect(), model, stream),
  ]);
  return {
    ...Object.fromEntries(sdks),
    '@ai-sdk/openai': (model, stream) => aiSdkAgent(gateway(), model, stream),
    ChatOpenAI: (model, stream) => langChainAgent(gateway(), model, stream),
    '@openai/agents': (model, stream) => agentsAgent(gateway(), model, stream),
    '@openrouter/sdk': (model, stream) => openRouterAgent(gateway(), model, stream),
  };
}

const TOOLS = [
  { type: 'function' as const, name: 'weather', parameters: CITY, strict: false },
  { type: 'function' as const, name: 'clock', parameters: NOTHING, strict: false },
];

/** Asks, runs the tools and sends everything back, until there is no call. */
async function loop(ask: (input: Json[]) => Promise<Json>): Promise<Agent> {
  const input: Json[] = [{ role: 'user', content: PROMPT }];
  const turns: Json[] = [];
  for (let open = true; open && turns.length < MAX_TURNS; ) {
    const response = await ask(input);
    turns.push(response);
    const calls = response.output.filter(({ type }: Json) => type === 'function_call');
    open = calls.length > 0;
    input.push(...response.output);
    for (const { name, arguments: args, call_id } of calls)
      input.push({ type: 'function_call_output', call_id, output: RESULTS[name]?.(JSON.parse(args)) });
  }
  const items: Json[] = turns.flatMap(({ output }) => output);
  const summaries = items.flatMap(({ type, summary }) => (type === 'reasoning' ? summary : []));
  const [first] = turns;
  return {
    reasoning: summaries.map(({ text }) => text),
    calls: turns.map(({ output }) =>
      output
        .filter(({ type }: Json) => type === 'function_call')
        .map(({ name, arguments: args }: Json) => [name, JSON.parse(args)]),
    ),
    usage: { input: first.usage.input_tokens, output: first.usage.output_tokens },
    text: items.findLast(({ type }) => type === 'message')?.content[0].text ?? '',
  };
}

function openaiAgent(client: OpenAI, model: string, stream: boolean): Promise<Agent> {
  return loop((input) => {
    const params = {
      ...{ model, input, tools: TOOLS, store: false, max_output_tokens: 4000 },
      include: ['reasoning.encrypted_content' as const],
      reasoning: { effort: 'low' as const, summary: 'auto' as const },
    };
    return stream ? client.responses.stream(params).finalResponse() : client.responses.create(params);
  });
}

async function aiSdkAgent({ url, key }: Connection, model: string, stream: boolean): Promise<Agent> {
  const openai = { store: false, reasoningEffort: 'low', reasoningSummary: 'auto', forceReasoning: true };
  const params = {
    model: createOpenAI({ baseURL: `${url}/v1`, apiKey: key })(model),
    ...{ prompt: PROMPT, tools: aiTools, stopWhen: isStepCount(3), maxOutputTokens: 4000, providerOptions: { openai } },
  };
  const running = stream ? streamText(params) : await generateText(params);
  const steps = await running.steps;
  const { inputTokens: input, outputTokens: output } = steps[0]?.usage ?? {};
  return {
    reasoning: steps.flatMap(({ reasoningText }) => reasoningText || []),
    calls: steps.map(({ toolCalls }) => toolCalls.map(({ toolName, input }) => [toolName, input])),
    usage: { input, output },
    text: await running.text,
  };
}

async function langChainAgent({ url, key }: Connection, name: string, stream: boolean): Promise<Agent> {
  const model = new ChatOpenAI({
    ...{ model: name, apiKey: key, configuration: { baseURL: `${url}/v1` }, maxRetries: 0, maxTokens: 4000 },
    ...{ useResponsesApi: true, zdrEnabled: true, reasoning: { effort: 'low', summary: 'auto' } },
  }).bindTools(langChainTools);
  const turns = [];
  const history: unknown[] = [new HumanMessage(PROMPT)];
  for (let open = true; open && turns.length < MAX_TURNS; ) {
    const turn = await answerOf(model, history, stream);
    turns.push(turn);
    history.push(turn);
    open = Boolean(turn.tool_calls?.length);
    for (const call of turn.tool_calls ?? [])
      history.push(await langChainTools.find((candidate) => candidate.name === call.name)?.invoke(call));
  }
  const [first] = turns;
  return {
    reasoning: turns.flatMap(({ additional_kwargs }) => {
      const { summary = [] } = (additional_kwargs.reasoning ?? {}) as Json;
      return summary.map(({ text }: Json) => text);
    }),
    calls: turns.map(({ tool_calls }) => tool_calls?.map(({ name, args }) => [name, args]) ?? []),
    usage: { input: first?.usage_metadata?.input_tokens, output: first?.usage_metadata?.output_tokens },
    text: turns.at(-1)?.text ?? '',
  };
}

async function agentsAgent(connection: Connection, model: string, stream: boolean): Promise<Agent> {
  const client = openaiClients(() => connection)['openai 7']?.() as OpenAI;
  const schema = (parameters: Json) => ({ ...parameters, required: [], additionalProperties: true as const });
  const runTool = (name: string) => (input: unknown) => RESULTS[name]?.(input) ?? '';
  const agent = new OpenAIAgent({
    name: 'Weather',
    model: new OpenAIResponsesModel(client, model),
    modelSettings: {
      store: false,
      reasoning: { effort: 'low', summary: 'auto' },
      providerData: { include: ['reasoning.encrypted_content'] },
      maxTokens: 4000,
    },
    tools: [
      tool({
        name: 'weather',
        description: 'Weather.',
        parameters: schema(CITY),
        strict: false,
        execute: runTool('weather'),
      }),
      tool({
        name: 'clock',
        description: 'Clock.',
        parameters: schema(NOTHING),
        strict: false,
        execute: runTool('clock'),
      }),
    ],
  });
  const runner = new Runner({ tracingDisabled: true });
  const result = await (stream ? streamed() : runner.run(agent, PROMPT));
  async function streamed() {
    const running = await runner.run(agent, PROMPT, { stream: true });
    await running.completed;
    return running;
  }

  const { rawResponses } = result;
  const items: Json[] = rawResponses.flatMap(({ output }) => output);
  const [first] = rawResponses;
  return {
    reasoning: items.flatMap(({ type, content }) =>
      type === 'reasoning' ? content.map(({ text }: Json) => text) : [],
    ),
    calls: rawResponses.map(({ output }) =>
      output.flatMap((item) => (item.type === 'function_call' ? [[item.name, JSON.parse(item.arguments)]] : [])),
    ) as Agent['calls'],
    usage: { input: first?.usage.inputTokens, output: first?.usage.outputTokens },
    text: String(result.finalOutput),
  };
}

function openRouterAgent({ url, key }: Connection, model: string, stream: boolean): Promise<Agent> {
  const client = new OpenRouter({ apiKey: key, serverURL: `${url}/v1` });
  return loop(async (input) => {
    const responsesRequest = {
      ...{ model, tools: TOOLS, input: input.map(spelled) as InputsUnion, maxOutputTokens: 4000 },
      include: ['reasoning.encrypted_content' as const],
      reasoning: { effort: 'low' as const, summary: 'auto' as const },
    };
    if (!stream)
      return wireOf(
        (await client.beta.responses.send({
          responsesRequest: { ...responsesRequest, stream: false },
        })) as OpenResponsesResult,
      );
    const events = await client.beta.responses.send({ responsesRequest: { ...responsesRequest, stream: true } });
    let last: Json;
    for await (const event of events as AsyncIterable<Json>) if (event.response) last = event.response;
    return wireOf(last);
  });
}

/** An item as the SDK spells it. */
function spelled({ call_id: callId, encrypted_content: encryptedContent, ...item }: Json): Json {
  return { ...item, ...(callId && { callId }), ...(encryptedContent && { encryptedContent }) };
}

/** The members that the loop reads, as the wire spells them. */
function wireOf({ output, usage }: Json): Json {
  const items = output.map(({ callId, encryptedContent, ...item }: Json) => ({
    ...item,
    ...(callId && { call_id: callId }),
    ...(encryptedContent && { encrypted_content: encryptedContent }),
  }));
  return { output: items, usage: { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens } };
}
