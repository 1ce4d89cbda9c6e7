/** Steps on the fields of a chat completions request, its messages apart. */

import { isObject, type Json } from '../../core/json/json.ts';
import type { ModelRules } from '../../core/model.ts';
import { type DialectStep, dropField, markDropped, removeField, setField } from './step.ts';

/** What routers and local servers take beyond OpenAI's own fields; strict providers answer 400 to them. */
export const EXTENSIONS = [
  'cache_control',
  'chat_template_kwargs',
  'debug',
  'image_config',
  'include_reasoning',
  'min_p',
  'models',
  'plugins',
  'repetition_penalty',
  'route',
  'session_id',
  'stop_server_tools_when',
  'thinking',
  'top_a',
  'top_k',
  'trace',
  'transforms',
  'usage',
];

/** Fields of OpenAI itself that hardly anyone else knows. */
export const OPENAI_ONLY = [
  'audio',
  'modalities',
  'moderation',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
  'store',
  'verbosity',
  'web_search_options',
];

export function without(...fields: string[]): DialectStep {
  return (body, _rules, result) => {
    for (const field of fields) dropField(body, field, result);
  };
}

/** Moves a value to another name; a value that is already there wins. */
export function renamed(from: string, to: string): DialectStep {
  return (body, _rules, result) => {
    if (body[from] === undefined) return;
    if ((body[to] ?? null) === null && body[from] !== null) setField(body, to, body[from], result);
    removeField(body, from, result);
  };
}

/** Some servers take `null` for a value instead of for its absence. */
export const withoutNulls: DialectStep = (body, _rules, result) => {
  for (const [field, value] of Object.entries(body)) if (value === null) removeField(body, field, result);
};

/** `reasoning: {effort, enabled, max_tokens}` of routers as the `reasoning_effort` of OpenAI. */
export const reasoningAsEffort: DialectStep = (body, _rules, result) => {
  const { reasoning } = body;
  if (reasoning === undefined) return;
  const effort = reasoning?.effort ?? (reasoning?.enabled === false ? 'none' : undefined);
  if (effort !== undefined) body.reasoning_effort ??= effort;
  else if (reasoning?.max_tokens !== undefined) markDropped('reasoning.max_tokens', result);
  removeField(body, 'reasoning', result);
};

/** OpenAI's choice among some of the tools, for servers that only know all or one: the other tools are not shown. */
export const allowedTools: DialectStep = (body, _rules, result) => {
  const allowed = body.tool_choice?.allowed_tools;
  if (body.tool_choice?.type !== 'allowed_tools' || !isObject(allowed)) return;
  const names = new Set((allowed.tools ?? []).map(toolName));
  if (Array.isArray(body.tools)) body.tools = body.tools.filter((tool: Json) => names.has(toolName(tool)));
  setField(body, 'tool_choice', allowed.mode ?? 'auto', result);
};

/** For servers that can force a call but not name the tool: the named one is the only one shown. */
export const namedToolAsOnlyTool: DialectStep = (body, _rules, result) => {
  if (!isObject(body.tool_choice)) return;
  const name = toolName(body.tool_choice);
  if (Array.isArray(body.tools)) body.tools = body.tools.filter((tool: Json) => toolName(tool) === name);
  setField(body, 'tool_choice', 'required', result);
};

/** JSON mode for servers that only know schemas. */
export const jsonModeAsSchema: DialectStep = (body, _rules, result) => {
  if (body.response_format?.type !== 'json_object') return;
  const format = { name: 'object', schema: { type: 'object' } };
  setField(body, 'response_format', { type: 'json_schema', json_schema: format }, result);
};

/** True for a choice that makes the model call a tool. */
export function isForced(choice: Json): boolean {
  if (choice === 'required' || choice === 'any') return true;
  if (!isObject(choice)) return false;
  return choice.type !== 'allowed_tools' || choice.allowed_tools?.mode === 'required';
}

/** True unless the model cannot reason or the request switches it off in one of the two ways there are. */
export function reasons(body: Json, rules: ModelRules): boolean {
  return rules.reasoning !== 'none' && body.reasoning_effort !== 'none' && body.thinking?.type !== 'disabled';
}

function toolName(tool: Json): unknown {
  return tool?.function?.name ?? tool?.custom?.name;
}
