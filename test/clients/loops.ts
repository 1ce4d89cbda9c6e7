/** A tool loop with reasoning, as each SDK's users write it: ask, call the tool, send everything back. */

import assert from 'node:assert/strict';
import type Anthropic from '@anthropic-ai/sdk';
import type { Content, GenerateContentResponse, GoogleGenAI } from '@google/genai';
import type OpenAI from 'openai';

export interface Loop {
  reasoning: string;
  args: unknown;
  usage: { input?: number; output?: number };
  text: string;
}

const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } } } as const;

export async function openaiLoop(client: OpenAI, model: string, stream: boolean): Promise<Loop> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Weather?' }];
  const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: PARAMETERS } }];
  const stream_options = { include_usage: true };
  let reasoning = '';
  const ask = async () => {
    const params = { model, messages, tools, reasoning_effort: 'high' as const };
    if (!stream) return client.chat.completions.create(params);
    const running = client.chat.completions.stream({ ...params, stream_options });
    running.on('chunk', ({ choices }) => {
      reasoning += (choices[0]?.delta as { reasoning?: string } | undefined)?.reasoning ?? '';
    });
    return running.finalChatCompletion();
  };
  const { choices, usage } = await ask();
  const message = choices[0]?.message as OpenAI.ChatCompletionMessage & { reasoning?: string };
  const [call] = message.tool_calls ?? [];
  assert(call?.type === 'function');
  messages.push(message, { role: 'tool', tool_call_id: call.id, content: 'sunny' });
  const text = (await ask()).choices[0]?.message.content ?? '';
  return {
    reasoning: stream ? reasoning : (message.reasoning ?? ''),
    args: JSON.parse(call.function.arguments),
    usage: { input: usage?.prompt_tokens, output: usage?.completion_tokens },
    text,
  };
}

export async function anthropicLoop(client: Anthropic, model: string, stream: boolean): Promise<Loop> {
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Weather?' }];
  const thinking = { type: 'adaptive', display: 'summarized' } as const;
  const ask = () => {
    const tools = [{ name: 'weather', input_schema: PARAMETERS }];
    const params = { model, messages, tools, max_tokens: 1000, thinking };
    return stream ? client.messages.stream(params).finalMessage() : client.messages.create(params);
  };
  const { content, usage } = await ask();
  const call = content.find((block) => block.type === 'tool_use');
  messages.push(
    { role: 'assistant', content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: call?.id ?? '', content: 'sunny' }] },
  );
  const [answer] = (await ask()).content;
  return {
    reasoning: content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
    args: call?.input,
    usage: { input: usage.input_tokens, output: usage.output_tokens },
    text: answer?.type === 'text' ? answer.text : '',
  };
}

export async function genaiLoop(client: GoogleGenAI, model: string, stream: boolean): Promise<Loop> {
  const contents: Content[] = [{ role: 'user', parts: [{ text: 'Weather?' }] }];
  const ask = async () => {
    const tools = [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: PARAMETERS }] }];
    const params = { model, contents, config: { tools, thinkingConfig: { includeThoughts: true } } };
    const chunks: GenerateContentResponse[] = [];
    if (!stream) chunks.push(await client.models.generateContent(params));
    else for await (const chunk of await client.models.generateContentStream(params)) chunks.push(chunk);
    const parts = chunks.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
    return { parts, usage: chunks.at(-1)?.usageMetadata };
  };
  const { parts, usage } = await ask();
  const call = parts.find(({ functionCall }) => functionCall)?.functionCall;
  const functionResponse = { id: call?.id, name: 'weather', response: { output: 'sunny' } };
  contents.push({ role: 'model', parts }, { role: 'user', parts: [{ functionResponse }] });
  return {
    reasoning: parts.map(({ thought, text }) => (thought ? (text ?? '') : '')).join(''),
    args: call?.args,
    usage: {
      input: usage?.promptTokenCount,
      output: (usage?.candidatesTokenCount ?? 0) + (usage?.thoughtsTokenCount ?? 0),
    },
    text: (await ask()).parts.map(({ text }) => text ?? '').join(''),
  };
}
