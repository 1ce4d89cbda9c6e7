/** Agents of three turns, run by the AI SDK's own loop and by LangChain's parts of one. */

import { HumanMessage, type MessageContent } from '@langchain/core/messages';
import { tool as langChainTool, type StructuredToolInterface } from '@langchain/core/tools';
import { generateText, isStepCount, jsonSchema, streamText, tool } from 'ai';
import { type AiSdk, THINKING } from './ai-sdk.ts';
import { answerOf, type LangChain } from './langchain.ts';

export interface Agent {
  /** One a turn, as far as the client shows it. */
  reasoning: string[];
  calls: [string, unknown][][];
  usage: { input?: number; output?: number };
  text: string;
}

export const CITY = { type: 'object', properties: { city: { type: 'string' } } } as const;
export const NOTHING = { type: 'object', properties: {} } as const;

export const aiTools = {
  weather: tool({ inputSchema: jsonSchema<{ city: string }>(CITY), execute: async ({ city }) => `sunny in ${city}` }),
  clock: tool({ inputSchema: jsonSchema(NOTHING), execute: async () => 'noon' }),
};

export async function aiSdkAgent(sdk: AiSdk, model: string, stream: boolean): Promise<Agent> {
  const stopWhen = isStepCount(3);
  const params = { model: sdk.model(model), prompt: 'Weather?', tools: aiTools, stopWhen, maxOutputTokens: 4000 };
  const running = stream
    ? streamText({ ...params, providerOptions: THINKING })
    : await generateText({ ...params, providerOptions: THINKING });
  const steps = await running.steps;
  const { inputTokens: input, outputTokens: output } = steps[0]?.usage ?? {};
  return {
    reasoning: steps.flatMap(({ reasoningText }) => reasoningText ?? []),
    calls: steps.map(({ toolCalls }) => toolCalls.map(({ toolName, input }) => [toolName, input])),
    usage: { input, output },
    text: await running.text,
  };
}

export const langChainTools: StructuredToolInterface[] = [
  langChainTool(async ({ city }: { city: string }) => `sunny in ${city}`, { name: 'weather', schema: CITY }),
  langChainTool(async () => 'noon', { name: 'clock', schema: NOTHING }),
];

export async function langChainAgent(client: LangChain, name: string, stream: boolean): Promise<Agent> {
  const model = client.model(name, { thinks: true }).bindTools(langChainTools);
  const first = await answerOf(model, [new HumanMessage('Weather?')], stream);
  const turns = [first];
  const history: unknown[] = [new HumanMessage('Weather?'), first];
  for (let turn = first; turn.tool_calls?.length && turns.length < 4; ) {
    for (const call of turn.tool_calls)
      history.push(await langChainTools.find((candidate) => candidate.name === call.name)?.invoke(call));
    turn = await answerOf(model, history, stream);
    turns.push(turn);
    history.push(turn);
  }
  return {
    reasoning: turns.flatMap(({ content, additional_kwargs }) =>
      thoughtsIn(content, additional_kwargs.reasoning_content),
    ),
    calls: turns.map(({ tool_calls }) => tool_calls?.map(({ name, args }) => [name, args]) ?? []),
    usage: { input: first.usage_metadata?.input_tokens, output: first.usage_metadata?.output_tokens },
    text: turns.at(-1)?.text ?? '',
  };
}

function thoughtsIn(content: MessageContent, beside: unknown): string[] {
  const blocks = Array.isArray(content) ? content : [];
  const thoughts = blocks.map(({ thinking }) => (typeof thinking === 'string' ? thinking : '')).join('');
  return [thoughts || String(beside ?? '')].filter((text) => text !== '');
}
