/** Rules of OpenAI for chat completions requests, beyond those that the gateway checks. */

import { isObject, type Json, read } from '../../../src/core/json/json.ts';

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

export function problemsOfChat(body: Json): string[] {
  return [...settings(body), ...tools(body), ...turns(body.messages ?? [])];
}

function settings(body: Json): string[] {
  const found: string[] = [];
  const { stop, temperature, response_format: format, stream_options: options } = body;
  if (Array.isArray(stop) && (stop.length > 4 || stop.length === 0)) found.push(`${stop.length} stop sequences`);
  if (temperature !== undefined && (temperature < 0 || temperature > 2)) found.push(`temperature is ${temperature}`);
  if (options && body.stream !== true) found.push('stream_options without stream');
  if (body.max_tokens !== undefined && body.max_completion_tokens !== undefined) found.push('two token limits');
  if (body.top_logprobs !== undefined && body.logprobs !== true) found.push('top_logprobs without logprobs');
  if (format?.type === 'json_schema') {
    if (!TOOL_NAME.test(format.json_schema?.name)) found.push(`schema name ${format.json_schema?.name}`);
    if (format.json_schema?.strict) found.push(...looseObjects(format.json_schema.schema, 'response_format'));
  }
  return found;
}

function tools({ tools: list, tool_choice: choice, parallel_tool_calls: parallel }: Json): string[] {
  const found: string[] = [];
  if (list !== undefined && list.length === 0) found.push('tools is empty');
  if (!list && choice !== undefined && choice !== 'none') found.push('tool_choice without tools');
  if (!list && parallel !== undefined) found.push('parallel_tool_calls without tools');
  const names: string[] = (list ?? []).map((tool: Json) => tool.function?.name ?? tool.custom?.name);
  for (const name of names) if (!TOOL_NAME.test(name)) found.push(`tool name ${name}`);
  for (const tool of list ?? []) {
    const { name, parameters, strict } = tool.function ?? {};
    if (parameters !== undefined && !isObject(parameters)) found.push(`parameters of ${name}`);
    if (strict) found.push(...looseObjects(parameters, name));
  }
  const named = choice?.function?.name;
  if (named && !names.includes(named)) found.push(`tool_choice names ${named}, which is no tool`);
  return found;
}

/** In strict schemas every object is closed and all its properties are required. */
export function looseObjects(schema: Json, at: string): string[] {
  if (Array.isArray(schema)) return schema.flatMap((inner) => looseObjects(inner, at));
  if (!isObject(schema)) return [];
  const below = Object.values(schema).flatMap((inner) => looseObjects(inner, at));
  if (!isObject(schema.properties) || schema.type !== 'object') return below;
  const names = Object.keys(schema.properties);
  const loose = schema.additionalProperties !== false || names.some((name) => !schema.required?.includes(name));
  return loose ? [...below, `${at} is strict with an open object of [${names}]`] : below;
}

function turns(messages: Json[]): string[] {
  const found: string[] = [];
  if (messages.length === 0) found.push('no messages');
  let due: string[] = [];
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    if (message.role === 'tool') {
      if (!due.includes(message.tool_call_id)) found.push(`${at} answers ${message.tool_call_id}, which was not asked`);
      due = due.filter((id) => id !== message.tool_call_id);
    } else if (due.length > 0) {
      found.push(`${at} comes before the results of ${due}`);
      due = [];
    }
    found.push(...ofMessage(message, at));
    if (message.role === 'assistant') due = (message.tool_calls ?? []).map((call: Json) => call.id);
  }
  if (due.length > 0) found.push(`the last turn leaves ${due} open`);
  return found;
}

function ofMessage({ role, content, tool_calls: calls, refusal }: Json, at: string): string[] {
  const found: string[] = [];
  const parts: Json[] = Array.isArray(content) ? content : [];
  if (Array.isArray(content) && content.length === 0) found.push(`${at} is empty`);
  if (role === 'assistant' && !calls && !refusal && content == null) found.push(`${at} has neither content nor calls`);
  if (role === 'assistant' && calls?.length === 0) found.push(`${at} has an empty tool_calls`);
  if (role !== 'assistant' && content == null) found.push(`${at} lacks content`);
  if (role === 'tool' && parts.some((part) => part.type !== 'text')) found.push(`${at} has a result that is not text`);
  if (['system', 'developer'].includes(role) && parts.some((part) => part.type !== 'text'))
    found.push(`${at} is not text`);
  for (const call of calls ?? []) {
    if (!call.id) found.push(`${at} has a call without id`);
    if (call.type === 'function' && !isJsonObject(call.function?.arguments)) found.push(`${at} has broken arguments`);
  }
  for (const part of parts) found.push(...ofPart(part, at));
  return found;
}

function ofPart({ type, text, image_url: image, input_audio: audio, file }: Json, at: string): string[] {
  const found: string[] = [];
  if (type === 'text' && (typeof text !== 'string' || text === '')) found.push(`${at} has an empty text`);
  if (type === 'image_url' && !/^(https?:|data:image\/)/.test(image?.url))
    found.push(`${at} has the image ${image?.url?.slice(0, 30)}`);
  if (type === 'input_audio' && !['wav', 'mp3'].includes(audio?.format))
    found.push(`${at} has audio of ${audio?.format}`);
  if (type === 'file' && !file?.file_id && !file?.file_data?.startsWith('data:'))
    found.push(`${at} has a file without data`);
  return found;
}

function isJsonObject(text: unknown): boolean {
  try {
    return typeof text === 'string' && isObject(read(text));
  } catch {
    return false;
  }
}
