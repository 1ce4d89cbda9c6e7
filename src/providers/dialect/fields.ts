/** Dialect steps for the top-level fields of a request of chat completions or Responses. */

import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import type { ModelRules } from '../../core/model.ts';
import type { Adaptation } from '../../core/provider.ts';
import { type DialectStep, dropField, markDropped, removeField, setField } from './step.ts';

/** Fields of routers and local servers beyond OpenAI's; strict providers refuse them with 400. */
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

/** Fields of OpenAI that few other providers accept. */
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

/** Step that drops fields and reports those that the body had. */
export function without(...fields: string[]): DialectStep {
  return (body, _rules, result) => {
    for (const field of fields) dropField(body, field, result);
  };
}

/** Renames a field; an existing value under the new name wins. */
export function renamed(from: string, to: string): DialectStep {
  return (body, _rules, result) => {
    if (body[from] === undefined) return;
    if ((body[to] ?? null) === null && body[from] !== null) setField(body, to, body[from], result);
    removeField(body, from, result);
  };
}

/** For servers that treat `null` as a value instead of as absent. */
export const withoutNulls: DialectStep = (body, _rules, result) => {
  for (const [field, value] of Object.entries(body)) if (value === null) removeField(body, field, result);
};

/** Converts the `reasoning` object of routers to OpenAI's `reasoning_effort`. */
export const reasoningAsEffort: DialectStep = (body, rules, result) => {
  const { reasoning } = body;
  if (reasoning === undefined) return;
  const { effort: named, enabled, max_tokens: budget, ...others } = isObject(reasoning) ? reasoning : {};
  // A model with the effort `none` does not reason unless it is asked to.
  const byDefault = budget === undefined && rules.efforts?.includes('none') ? 'medium' : undefined;
  const effort = named ?? (enabled === false ? 'none' : enabled === true ? byDefault : undefined);
  if (effort !== undefined) body.reasoning_effort ??= effort;
  else if (budget !== undefined) markDropped('reasoning.max_tokens', result);
  for (const name in others) if (others[name] ?? false) result.dropped.push(`reasoning.${name}`);
  removeField(body, 'reasoning', result);
};

export const THINKING_OFF = { type: 'disabled' };

/** For servers whose models reason unless `thinking` says that they do not. */
export const effortNoneAsThinking: DialectStep = (body, _rules, result) => {
  if (body.reasoning_effort !== 'none') return;
  removeField(body, 'reasoning_effort', result);
  setField(body, 'thinking', THINKING_OFF, result);
};

/** For servers without `allowed_tools`: removes the tools that are not allowed. */
export const allowedTools: DialectStep = (body, _rules, result) => {
  const allowed = body.tool_choice?.allowed_tools;
  if (body.tool_choice?.type !== 'allowed_tools' || !isObject(allowed)) return;
  const names = new Set((allowed.tools ?? []).map(toolName));
  if (Array.isArray(body.tools)) body.tools = body.tools.filter((tool: Json) => names.has(toolName(tool)));
  setField(body, 'tool_choice', allowed.mode ?? 'auto', result);
};

/** For servers that can force a call but not name the tool: removes all other tools. */
export const namedToolAsOnlyTool: DialectStep = (body, _rules, result) => {
  if (!isObject(body.tool_choice)) return;
  const name = toolName(body.tool_choice);
  if (Array.isArray(body.tools)) body.tools = body.tools.filter((tool: Json) => toolName(tool) === name);
  setField(body, 'tool_choice', 'required', result);
};

/** For servers without JSON mode: uses a schema of any object. */
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

/** False if the model cannot reason or the request disables reasoning. */
export function reasons(body: Json, rules: ModelRules): boolean {
  return rules.reasoning !== 'none' && body.reasoning_effort !== 'none' && body.thinking?.type !== 'disabled';
}

function toolName(tool: Json): unknown {
  return tool?.function?.name ?? tool?.custom?.name;
}

/** Name in `include` of the state of reasoning, which a server that stores no response has to hand out. */
const REASONING_STATE = 'reasoning.encrypted_content';

/** For servers of Responses that would store each response, though the gateway does. Models that cannot reason refuse the name. */
export const withoutStorage: DialectStep = (body, rules, result) => {
  if (body.store === false) return;
  setField(body, 'store', false, result);
  const included: Json[] = Array.isArray(body.include) ? body.include : [];
  if (rules.reasoning === 'none' || included.includes(REASONING_STATE)) return;
  setField(body, 'include', [...included, REASONING_STATE], result);
};

const WEB_SEARCH = /^web_search/;

/**
 * For servers of Responses that search no web: a search that stands beside other tools is left out, also of the allowed ones; one
 * that stands alone or is forced is refused.
 */
export const withoutWebSearch: DialectStep = (body, _rules, result) => {
  const tools: Json[] = Array.isArray(body.tools) ? body.tools : [];
  const others = tools.filter((tool) => !isWebSearch(tool));
  if (others.length === tools.length) return;
  if (others.length === 0) throw noWebSearch('tools');
  if (isWebSearch(body.tool_choice)) throw noWebSearch('tool_choice');
  if (isObject(body.tool_choice) && Array.isArray(body.tool_choice.tools)) withoutAllowedSearch(body, result);
  setField(body, 'tools', others, result);
  markDropped('tools.web_search', result);
};

function withoutAllowedSearch(body: Json, result: Adaptation): void {
  const { tools, mode } = body.tool_choice;
  const others = tools.filter((tool: Json) => !isWebSearch(tool));
  if (others.length > 0 || tools.length === 0) setField(body.tool_choice, 'tools', others, result);
  else if (mode === 'required') throw noWebSearch('tool_choice');
  else setField(body, 'tool_choice', 'none', result);
}

function isWebSearch(tool: Json): boolean {
  return WEB_SEARCH.test(String(tool?.type));
}

function noWebSearch(param: string): GatewayError {
  return new GatewayError('unsupported_tool', 'Models of OpenAI have no web search at this provider.', { param });
}
