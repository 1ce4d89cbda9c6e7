/** LangChain's chat models of the three protocols. */

import { ChatAnthropic } from '@langchain/anthropic';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import type { AIMessageChunk } from '@langchain/core/messages';
import type { Runnable } from '@langchain/core/runnables';
import { ChatGoogleGenerativeAI } from '@langchain/google-genai';
import { ChatOpenAI } from '@langchain/openai';
import type { GatewayProcess } from './gateway-process.ts';

type Connection = Pick<GatewayProcess, 'url' | 'key'>;

export type ChatModel = Runnable & Required<Pick<BaseChatModel, 'bindTools' | 'withStructuredOutput'>>;

export interface Options {
  key?: string;
  /** Asks for reasoning and has it shown. */
  thinks?: boolean;
  maxTokens?: number;
}

/** A class of LangChain's. */
export interface LangChain {
  model(name: string, options?: Options): ChatModel;
  /** `ChatOpenAI` keeps reasoning out of content. */
  showsReasoning: boolean;
  /** `ChatAnthropic` reads the input's count from the start of a stream alone, when other providers haven't told it yet. */
  countsStreamedInput: boolean;
  /** `ChatGoogleGenerativeAI` refuses them unless the model's name holds `vision`. */
  takesImages: boolean;
  /** `ChatGoogleGenerativeAI` listens to a signal in streams alone. */
  abortsAnswers: boolean;
}

const CLASSES: Record<string, (gateway: Connection, model: string, options: Options) => BaseChatModel> = {
  ChatOpenAI: ({ url, key: apiKey }, model, { thinks, maxTokens }) =>
    new ChatOpenAI({
      model,
      apiKey,
      configuration: { baseURL: `${url}/v1` },
      maxRetries: 0,
      maxTokens,
      ...(thinks && { modelKwargs: { reasoning_effort: 'low' } }),
    }),
  ChatAnthropic: ({ url, key: apiKey }, model, { thinks, maxTokens }) =>
    new ChatAnthropic({
      model,
      apiKey,
      anthropicApiUrl: `${url}/anthropic`,
      maxRetries: 0,
      maxTokens,
      ...(thinks && { thinking: { type: 'enabled', budget_tokens: 1024 } }),
    }),
  ChatGoogleGenerativeAI: ({ url, key: apiKey }, model, { thinks, maxTokens }) =>
    new ChatGoogleGenerativeAI({
      model,
      apiKey,
      baseUrl: `${url}/gemini`,
      maxRetries: 0,
      maxOutputTokens: maxTokens,
      ...(thinks && { thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 } }),
    }),
};

export function langChains(gateway: () => Connection): Record<string, () => LangChain> {
  const connect = (name: string): LangChain => ({
    model(model, { maxTokens = 4000, ...options } = {}) {
      const { url, key } = gateway();
      return CLASSES[name]?.({ url, key: options.key ?? key }, model, { maxTokens, ...options }) as BaseChatModel &
        ChatModel;
    },
    showsReasoning: name !== 'ChatOpenAI',
    countsStreamedInput: name !== 'ChatAnthropic',
    takesImages: name !== 'ChatGoogleGenerativeAI',
    abortsAnswers: name !== 'ChatGoogleGenerativeAI',
  });
  return Object.fromEntries(Object.keys(CLASSES).map((name) => [name, () => connect(name)]));
}

/** A whole message, streamed or not. */
export async function answerOf(model: Runnable, input: unknown, stream: boolean, signal?: AbortSignal) {
  if (!stream) return (await model.invoke(input, { signal })) as AIMessageChunk;
  let whole: AIMessageChunk | undefined;
  for await (const chunk of await model.stream(input, { signal })) whole = whole?.concat(chunk) ?? chunk;
  if (!whole) throw new Error('The stream was empty.');
  return whole;
}
