/** Known member names of a chat completions body, in all dialects. */

import * as Type from 'typebox';
import { knownNames, objectWith, PROVIDER_MEMBERS } from '../../core/json/names.ts';
import { COUNT_MEMBERS, LIMIT_MEMBERS, THINKING_MEMBERS } from './output-members.ts';
import { GATEWAY_FIELDS, READ_FIELDS } from './request-decoder.ts';
import { PARTS, schema, TOOLS } from './request-schema.ts';

const MEMBERS = [...LIMIT_MEMBERS, ...COUNT_MEMBERS, ...THINKING_MEMBERS, ...GATEWAY_FIELDS, ...READ_FIELDS];

export const names = knownNames([
  schema,
  objectWith(MEMBERS),
  Type.Object({
    messages: Type.Array(Type.Object({ content: Type.Array(Type.Union(Object.values(PARTS))) })),
    tools: Type.Array(Type.Union(Object.values(TOOLS))),
    thinking: objectWith(['type', 'budget_tokens']),
    stream_options: objectWith(['include_usage', 'include_obfuscation', 'continuous_usage_stats']),
    provider: objectWith(PROVIDER_MEMBERS),
    chat_template_kwargs: objectWith(['thinking_budget', 'enable_thinking']),
  }),
]);
