/** Rules of Anthropic for messages requests, beyond those that the gateway checks. */

import { isObject, type Json } from '../../../src/core/json/json.ts';

const ID = /^[a-zA-Z0-9_-]+$/;
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const IMAGES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

export function problemsOfMessages(body: Json): string[] {
  return [...settings(body), ...tools(body), ...turns(body.messages ?? []), ...cacheMarks(body)];
}

function settings(body: Json): string[] {
  const found: string[] = [];
  const { max_tokens: max, temperature, stop_sequences: stops = [], thinking, tool_choice: choice } = body;
  if (!Number.isInteger(max) || max < 1) found.push(`max_tokens is ${max}`);
  if (temperature !== undefined && (temperature < 0 || temperature > 1)) found.push(`temperature is ${temperature}`);
  if (stops.some((stop: string) => stop.trim() === '')) found.push('a stop sequence is blank');
  if (thinking?.type === 'enabled') {
    if (!(thinking.budget_tokens >= 1024 && thinking.budget_tokens < max))
      found.push(`thinking budget ${thinking.budget_tokens} of ${max}`);
    if (choice && ['any', 'tool'].includes(choice.type)) found.push('a forced call with thinking');
    if (temperature !== undefined && temperature !== 1) found.push('temperature with thinking');
  }
  if (choice && !body.tools?.length && choice.type !== 'none') found.push('tool_choice without tools');
  if (choice?.type === 'tool' && !body.tools?.some((tool: Json) => tool.name === choice.name))
    found.push(`tool_choice names ${choice.name}, which is no tool`);
  const system: Json[] = Array.isArray(body.system) ? body.system : [];
  if (body.system === '' || system.some((block) => block.text?.trim() === '')) found.push('system is blank');
  return found;
}

function tools({ tools: list = [] }: Json): string[] {
  const found: string[] = [];
  const names = new Set<string>();
  for (const tool of list) {
    if (!TOOL_NAME.test(tool.name)) found.push(`tool name ${tool.name}`);
    if (names.has(tool.name)) found.push(`two tools ${tool.name}`);
    names.add(tool.name);
    const isOwn = tool.type === undefined || tool.type === 'custom';
    if (isOwn && tool.input_schema?.type !== 'object') found.push(`input_schema of ${tool.name} is no object`);
  }
  return found;
}

function turns(messages: Json[]): string[] {
  const found: string[] = [];
  if (messages.length === 0) found.push('no messages');
  let due: string[] = [];
  let before = '';
  for (const [index, { role, content }] of messages.entries()) {
    const at = `messages[${index}]`;
    const blocks: Json[] = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
    if (index === 0 && role === 'assistant') found.push(`${at} is the assistant's`);
    if (role === before && role !== 'system') found.push(`${at} is ${role} again`);
    before = role;
    if (blocks.length === 0) found.push(`${at} is empty`);
    found.push(...blocks.flatMap((block) => ofBlock(block, at)));
    if (role === 'system') continue;
    const results = blocks.filter((block) => block.type === 'tool_result');
    const given: string[] = results.map((block) => block.tool_use_id);
    const missing = due.filter((id) => !given.includes(id));
    if (missing.length > 0) found.push(`${at} lacks results of ${missing}`);
    const strangers = given.filter((id) => !due.includes(id));
    if (strangers.length > 0) found.push(`${at} answers ${strangers}, which was not asked`);
    const lastResult = blocks.findLastIndex((block) => block.type === 'tool_result');
    if (lastResult >= results.length) found.push(`${at} has results after other blocks`);
    due = blocks.filter((block) => block.type === 'tool_use').map((block) => block.id);
    if (new Set(due).size < due.length) found.push(`${at} uses a call id twice`);
  }
  const last = messages.at(-1);
  const end = typeof last?.content === 'string' ? last.content : last?.content?.at(-1)?.text;
  if (last?.role === 'assistant' && typeof end === 'string' && end !== end.trimEnd()) found.push('prefill ends blank');
  if (due.length > 0) found.push(`the last turn leaves ${due} open`);
  return found;
}

function ofBlock(block: Json, at: string): string[] {
  const { type, source } = block;
  const found: string[] = [];
  if (type === 'text' && !block.text?.trim()) found.push(`${at} has a blank text`);
  if (type === 'tool_use' && (!ID.test(block.id) || !isObject(block.input))) found.push(`${at} has a bad tool_use`);
  if (type === 'tool_use' && !TOOL_NAME.test(block.name)) found.push(`${at} calls ${block.name}`);
  if (type === 'thinking' && !block.signature) found.push(`${at} has thinking without a signature`);
  if (type === 'image' && source?.type === 'base64' && !IMAGES.includes(source.media_type))
    found.push(`${at} has an image of ${source.media_type}`);
  if (source?.type === 'url' && !source.url?.startsWith('https://')) found.push(`${at} has the URL ${source.url}`);
  if (type === 'tool_result') {
    if (!ID.test(block.tool_use_id)) found.push(`${at} has a result of ${block.tool_use_id}`);
    if (Array.isArray(block.content)) found.push(...block.content.flatMap((inner: Json) => ofBlock(inner, at)));
  }
  return found;
}

function cacheMarks(body: Json): string[] {
  const marks = JSON.stringify(body).split('"cache_control":{').length - 1;
  return marks > 4 ? [`${marks} cache marks`] : [];
}
