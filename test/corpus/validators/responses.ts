/** Rules of OpenAI for Responses requests, beyond those that the gateway checks. */

import { isObject, type Json, read } from '../../../src/core/json/json.ts';
import { looseObjects } from './chat.ts';

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const MIN_OUTPUT_TOKENS = 16;
const MAX_ID_CHARACTERS = 64;
const PREFIXES: Record<string, string> = { function_call: 'fc_', custom_tool_call: 'ctc_', reasoning: 'rs_' };

export function problemsOfResponses(body: Json): string[] {
  const { input } = body;
  if (!Array.isArray(input) || input.length === 0) return ['no input'];
  return [...settings(body), ...tools(body), ...ids(input), ...calls(input), ...input.flatMap(itemProblems)];
}

function settings(body: Json): string[] {
  const found: string[] = [];
  const { max_output_tokens: limit, text, store, stream, stream_options: options } = body;
  if (limit !== undefined && limit < MIN_OUTPUT_TOKENS) found.push(`max_output_tokens is ${limit}`);
  if (store !== false) found.push(`store is ${store}`);
  if (options && stream !== true) found.push('stream_options without stream');
  for (const name of ['stop', 'seed', 'n', 'logit_bias', 'top_k', 'max_tokens', 'messages', 'response_format'])
    if (body[name] !== undefined) found.push(`${name} is unknown`);
  if (text?.format?.type === 'json_schema') {
    if (!NAME.test(text.format.name)) found.push(`schema name ${text.format.name}`);
    if (!isObject(text.format.schema)) found.push('no schema');
    if (text.format.strict) found.push(...looseObjects(text.format.schema, 'text.format'));
  }
  return found;
}

function tools({ tools: list, tool_choice: choice, parallel_tool_calls: parallel }: Json): string[] {
  const found: string[] = [];
  if (list !== undefined && list.length === 0) found.push('tools is empty');
  if (!list && choice !== undefined && choice !== 'none') found.push('tool_choice without tools');
  if (!list && parallel !== undefined) found.push('parallel_tool_calls without tools');
  for (const { type, name, parameters, strict } of list ?? []) {
    if ((type === 'function' || type === 'custom') && !NAME.test(name)) found.push(`tool name ${name}`);
    if (type !== 'function') continue;
    if (typeof strict !== 'boolean') found.push(`${name} does not say whether it is strict`);
    if (!isObject(parameters)) found.push(`parameters of ${name}`);
    if (strict) found.push(...looseObjects(parameters, name));
  }
  if (choice?.name && !list?.some(({ name }: Json) => name === choice.name))
    found.push(`tool_choice names ${choice.name}, which is no tool`);
  return found;
}

function ids(input: Json[]): string[] {
  const given = input.flatMap(({ id, call_id }) => [id, call_id]).filter((id) => id !== undefined);
  const own = input.map(({ id }) => id).filter((id) => id !== undefined);
  return [
    ...given.filter((id) => id.length > MAX_ID_CHARACTERS).map((id) => `id ${id} is too long`),
    ...own.filter((id, index) => own.indexOf(id) !== index).map((id) => `id ${id} comes twice`),
    ...input
      .filter(({ type, id }) => PREFIXES[type] && id !== undefined && !id.startsWith(PREFIXES[type]))
      .map(({ type, id }) => `id ${id} of a ${type}`),
  ];
}

/** Every call is answered, after it was made, and reasoning is followed by what it led to. */
function calls(input: Json[]): string[] {
  const found: string[] = [];
  const open = new Set<string>();
  for (const [index, { type, call_id: id }] of input.entries()) {
    if (type === 'function_call' || type === 'custom_tool_call') open.add(id);
    if (type?.endsWith('_call_output') && !open.delete(id))
      found.push(`input[${index}] answers ${id}, which was not asked`);
    const { type: next, role } = input[index + 1] ?? {};
    const isFollowed = next === 'reasoning' || next?.endsWith('_call') || role === 'assistant';
    if (type === 'reasoning' && !isFollowed) found.push(`input[${index}] is reasoning that led to nothing`);
  }
  return open.size > 0 ? [...found, `${[...open]} are not answered`] : found;
}

/** An empty text alone is taken: OpenAI answered the recording `mirascope/e2e/input/cassettes/empty-call`. */
function itemProblems(
  { type, role, content, arguments: args, output }: Json,
  index: number,
  { length }: readonly Json[],
): string[] {
  const at = `input[${index}]`;
  switch (type) {
    case 'message':
      if (content === '' && length === 1) return [];
      if (content === '' || content?.length === 0) return [`${at} is empty`];
      return Array.isArray(content) ? content.flatMap((part) => partProblems(part, role, at)) : [];
    case 'function_call':
      return isJsonObject(args) ? [] : [`${at} has broken arguments`];
    case 'function_call_output':
      return Array.isArray(output) ? output.flatMap((part) => partProblems(part, 'user', at)) : [];
    default:
      return [];
  }
}

function partProblems(
  { type, text, image_url: image, file_data: data, file_url: url }: Json,
  role: string,
  at: string,
) {
  const allowed =
    role === 'assistant' ? ['output_text', 'refusal'] : ['input_text', 'input_image', 'input_file', 'input_audio'];
  if (!allowed.includes(type)) return [`${at} has ${type} of ${role}`];
  if (type === 'input_text' && (typeof text !== 'string' || text === '')) return [`${at} has an empty text`];
  if (type === 'input_image' && !/^(https?:|data:image\/)/.test(image))
    return [`${at} has the image ${image?.slice(0, 30)}`];
  if (type === 'input_file' && !data?.startsWith('data:') && !url) return [`${at} has a file without data`];
  return [];
}

function isJsonObject(text: unknown): boolean {
  try {
    return typeof text === 'string' && isObject(read(text));
  } catch {
    return false;
  }
}
