/** Answers as the official SDK of each protocol reads them: the gateway's real response stands behind its `fetch`. */

import Anthropic from '@anthropic-ai/sdk';
import { ApiError, GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';

/** The SDK's object of a whole answer; or what its stream gave, event by event, and what its helper put together of them. */
export type Heard = { answer: object } | { events: object[]; final?: object };

export type Hear = (response: Response, form: 'whole' | 'stream') => Promise<Heard>;

/** What an SDK throws for an answer that is an error, in the same words for all three; undefined for other throws. */
export interface Failure {
  status?: number;
  message: string;
}

/** Nothing is sent to it: `fetch` gives the response at hand. */
const NOWHERE = 'http://127.0.0.1:9';
const MODEL = 'provider/model';
const user = { role: 'user', content: 'Hello' } as const;

async function all(stream: AsyncIterable<object>): Promise<object[]> {
  const events: object[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

function connection(response: Response) {
  return { apiKey: 'key', baseURL: NOWHERE, maxRetries: 0, timeout: 60_000, fetch: async () => response };
}

async function hearChat(response: Response, form: 'whole' | 'stream'): Promise<Heard> {
  const { completions } = new OpenAI(connection(response)).chat;
  const question = { model: MODEL, messages: [user] };
  if (form === 'whole') return { answer: await completions.create(question) };
  const stream = completions.stream(question);
  const events = await all(stream);
  return { events, final: await stream.finalChatCompletion() };
}

async function hearMessages(response: Response, form: 'whole' | 'stream'): Promise<Heard> {
  const { messages } = new Anthropic({ ...connection(response), authToken: null });
  const question = { model: MODEL, max_tokens: 1000, messages: [user] };
  if (form === 'whole') return { answer: await messages.create(question) };
  const stream = messages.stream(question);
  const events = await all(stream);
  return { events, final: await stream.finalMessage() };
}

async function hearGenerate(response: Response, form: 'whole' | 'stream'): Promise<Heard> {
  const httpOptions = { baseUrl: NOWHERE, fetch: async () => response };
  const { models } = new GoogleGenAI({ apiKey: 'key', httpOptions });
  const question = { model: MODEL, contents: 'Hello' };
  if (form === 'whole') return { answer: await models.generateContent(question) };
  return { events: await all(await models.generateContentStream(question)) };
}

/** The helper takes a response that failed for the last one, and does not throw. */
async function hearResponses(response: Response, form: 'whole' | 'stream'): Promise<Heard> {
  const { responses } = new OpenAI(connection(response));
  const question = { model: MODEL, input: 'Hello' };
  if (form === 'whole') return { answer: await responses.create(question) };
  const stream = responses.stream(question);
  const events = await all(stream);
  const final = await stream.finalResponse();
  if (final.status === 'failed') throw new OpenAI.APIError(undefined, undefined, final.error?.message, undefined);
  return { events, final };
}

export const HEAR: Record<'chat' | 'messages' | 'generate' | 'responses', Hear> = {
  chat: hearChat,
  messages: hearMessages,
  generate: hearGenerate,
  responses: hearResponses,
};

export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof OpenAI.APIError || error instanceof Anthropic.APIError)
    return { status: error.status, message: error.message };
  if (error instanceof ApiError) return { status: error.status, message: error.message };
  return undefined;
}
