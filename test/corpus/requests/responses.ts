/** A Responses request, as its upstream reads it. */

import type { Json } from '../../../src/core/json/json.ts';
import { type Asked, addFormat, addTool, emptyAsked, resultOf, type Settings, words } from '../asked.ts';
import { canonicalText } from '../readers/chat.ts';

/** A free-text tool, as a function says it. */
const FREE_TEXT = { type: 'object', properties: { input: { type: 'string' } } };

export function readResponsesRequest(body: Json): Asked {
  const asked = emptyAsked();
  if (typeof body.instructions === 'string') asked.system.push(words(body.instructions));
  const input: Json[] = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : (body.input ?? []);
  for (const item of input) readItem(asked, item);
  for (const { name, description, parameters } of toolsIn(body, input))
    addTool(asked, { name, description, schema: parameters });
  asked.settings = settingsOf(body);
  const format = body.text?.format;
  if (format?.type === 'json_schema') addFormat(asked, format.schema);
  return asked;
}

function readItem(asked: Asked, item: Json): void {
  const { type = 'message', role, content, output } = item;
  switch (type) {
    case 'message': {
      const parts: Json[] = typeof content === 'string' ? [{ text: content }] : (content ?? []);
      const text = parts.map(({ text: said, refusal }) => said ?? refusal ?? '').join('');
      if (text !== '') asked[role === 'developer' ? 'system' : (role as 'user')].push(words(text));
      asked.media.push(...parts.flatMap(mediaOf));
      return;
    }
    case 'function_call':
      asked.calls.push(`${item.name} ${canonicalText(item.arguments ?? '')}`);
      return;
    case 'custom_tool_call':
      asked.calls.push(`${item.name} ${JSON.stringify({ input: item.input })}`);
      return;
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const parts: Json[] = typeof output === 'string' ? [{ text: output }] : (output ?? []);
      asked.results.push(resultOf(parts.map(({ text = '' }) => text).join('')));
      asked.media.push(...parts.flatMap(mediaOf));
      return;
    }
  }
}

/** Tools of the request and those that join it in its input, also in namespaces, as far as they are allowed. */
function toolsIn(body: Json, input: Json[]): Json[] {
  const later = input.flatMap(({ type, tools }) =>
    type === 'additional_tools' || type === 'tool_search_output' ? (tools ?? []) : [],
  );
  const { tool_choice: choice } = body;
  const allowed: string[] | undefined =
    choice?.type === 'allowed_tools' ? choice.tools.map(({ name }: Json) => name) : undefined;
  const tools: Json[] = [...(body.tools ?? []), ...later].flatMap((tool: Json) => tool.tools ?? [tool]);
  return tools
    .filter(({ type, name }) => ['function', 'custom'].includes(type) && (allowed?.includes(name) ?? true))
    .map((tool) => (tool.type === 'custom' ? { ...tool, parameters: FREE_TEXT } : tool));
}

function mediaOf({ type, image_url: image, file_data: file, file_url: url, input_audio: audio }: Json): string[] {
  switch (type) {
    case 'input_image':
      return [`image ${addressOf(image)}`];
    case 'input_file':
      // A plain text is told in words.
      return /^data:text\//.test(file ?? '') ? [] : [`document ${addressOf(file ?? url)}`];
    case 'input_audio':
      return [`audio ${audio.data.length}`];
    default:
      return [];
  }
}

function addressOf(url: string): string {
  return /^(https?|gs):/.test(url) ? url : String(url.length - url.indexOf(',') - 1);
}

function settingsOf(body: Json): Settings {
  const tools = body.tools?.filter(({ type }: Json) => type === 'function' || type === 'custom');
  const settings: Settings = {
    maxTokens: body.max_output_tokens ?? undefined,
    temperature: body.temperature ?? undefined,
    topP: body.top_p ?? undefined,
    frequencyPenalty: body.frequency_penalty ?? undefined,
    presencePenalty: body.presence_penalty ?? undefined,
    parallel: tools?.length && body.parallel_tool_calls === false ? false : undefined,
    logprobs: body.include?.includes('message.output_text.logprobs') || undefined,
    user: body.safety_identifier ?? body.user ?? undefined,
    cache: /"prompt_cache_breakpoint":\{/.test(JSON.stringify(body)) || undefined,
    reasoning: reasoningOf(body),
    choice: choiceOf(body),
    format: body.text?.format?.type === 'json_object' ? 'json' : undefined,
  };
  return JSON.parse(JSON.stringify(settings));
}

/** `auto` says nothing. */
function choiceOf({ tool_choice: choice, tools }: Json): string | undefined {
  if (!choice || choice === 'auto' || !tools?.length) return undefined;
  if (typeof choice === 'string') return choice;
  return choice.type === 'allowed_tools' ? choice.mode : (choice.name ?? choice.type);
}

function reasoningOf({ reasoning }: Json): 'on' | 'off' | undefined {
  if (!reasoning?.effort) return undefined;
  return reasoning.effort === 'none' ? 'off' : 'on';
}
