/** Model selection fields: body fields that let an upstream router choose another model, account or address. */

import { GatewayError } from './errors.ts';
import { isObject, type Json } from './json/json.ts';
import { fold } from './json/names.ts';

/**
 * OpenRouter (`models`, `route`, `preset`), LiteLLM (`fallbacks` to `custom_llm_provider`), Vercel's gateway
 * (`providerOptions`), Portkey (`config`, `targets`), Requesty, Orq, Not Diamond and Groq's compound systems.
 */
const MODEL_SELECTION_FIELDS = [
  'models',
  'route',
  'preset',
  'fallbacks',
  'fallback_models',
  'fallback_providers',
  'default_fallbacks',
  'context_window_fallbacks',
  'content_policy_fallbacks',
  'model_list',
  'model_group',
  'model_group_alias',
  'model_info',
  'model_id',
  'model_routing_config',
  'user_config',
  'router_settings',
  'router_settings_override',
  'litellm_params',
  'specific_deployment',
  'deployment_id',
  'engine',
  'custom_llm_provider',
  'api_base',
  'base_url',
  'api_key',
  'extra_body',
  'providerOptions',
  'targets',
  'override_params',
  'requesty',
  'orq',
  'llm_providers',
  'compound_custom',
];

const FOLDED = new Set(MODEL_SELECTION_FIELDS.map(fold));

/** Server-side tools and plugins, which may call models of their own. */
const SERVER_TOOL_FIELDS = ['plugins', 'tools'];
/** Fields of a tool that the client defines and the server does not interpret. */
const CLIENT_TOOL_FIELDS = ['function', 'custom', 'input_schema', 'functionDeclarations', 'function_declarations'];

/** Types of tools that the client defines, and their members with text of the client. */
const CLIENT_TOOL_TYPES = ['function', 'custom', 'namespace'];
const CLIENT_TOOL_DETAILS = ['parameters', 'output_schema', 'format'];

/**
 * For keys with restricted models or a budget: throws `permission_denied` for fields that could select another model.
 * `path` is the prefix of the field name in the error.
 */
export function refuseModelMembers(body: Json, path = ''): void {
  for (const [name, value] of Object.entries(body)) {
    if (value === null) continue;
    if (FOLDED.has(fold(name))) refuse(path + name);
    if (SERVER_TOOL_FIELDS.includes(name)) checkServerTools(value, path + name);
  }
  checkLaterTools(body, path);
}

/** Tools that join later, in Responses and in messages. */
function checkLaterTools({ input, messages }: Json, path: string): void {
  for (let index = 0; index < lengthOf(input); index++) {
    const item = input[index];
    if (isObject(item) && item.tools) checkServerTools(item.tools, `${path}input[${index}].tools`);
  }
  for (let index = 0; index < lengthOf(messages); index++) {
    const content = messages[index]?.content;
    for (let place = 0; place < lengthOf(content); place++) {
      const block = content[place];
      checkAddition(block, path, index);
      const changes = block?.tool_changes;
      for (let change = 0; change < lengthOf(changes); change++) checkAddition(changes[change], path, index);
    }
  }
}

function checkAddition(change: Json, path: string, index: number): void {
  const tool = change?.tool;
  if (isObject(tool)) checkServerTools(tool.definition, `${path}messages[${index}].content.tool.definition`);
}

function lengthOf(value: Json): number {
  return Array.isArray(value) ? value.length : 0;
}

function checkServerTools(helpers: Json, path: string): void {
  for (const helper of Array.isArray(helpers) ? helpers : [helpers]) {
    if (!isObject(helper)) continue;
    const isClients = CLIENT_TOOL_TYPES.includes(helper.type);
    for (const [name, value] of Object.entries(helper)) {
      if (isClients && name === 'tools') checkServerTools(value, `${path}.tools`);
      else if (!CLIENT_TOOL_FIELDS.includes(name) && !(isClients && CLIENT_TOOL_DETAILS.includes(name)))
        checkNested({ [name]: value }, path);
    }
  }
}

function checkNested(value: Json, path: string): void {
  if (Array.isArray(value)) for (const item of value) checkNested(item, path);
  if (!isObject(value)) return;
  for (const [name, inner] of Object.entries(value)) {
    if (fold(name).includes('model')) refuse(`${path}.${name}`);
    checkNested(inner, `${path}.${name}`);
  }
}

function refuse(param: string): never {
  const shown = param.slice(0, MAX_SHOWN_CHARACTERS);
  const message = `${shown} may not be used with this key, which is bound to models or to a budget.`;
  throw new GatewayError('permission_denied', message, { param: shown });
}

const MAX_SHOWN_CHARACTERS = 200;
