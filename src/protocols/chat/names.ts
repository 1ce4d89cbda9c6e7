/** Known member names of a chat completions body, in all dialects. */

import * as Type from 'typebox';
import { knownNames } from '../../core/json/names.ts';
import { COUNT_MEMBERS, LIMIT_MEMBERS, THINKING_MEMBERS } from './output-members.ts';
import { GATEWAY_FIELDS, READ_FIELDS } from './request-decoder.ts';
import { PARTS, schema, TOOLS } from './request-schema.ts';

const MEMBERS = [...LIMIT_MEMBERS, ...COUNT_MEMBERS, ...THINKING_MEMBERS, ...GATEWAY_FIELDS, ...READ_FIELDS];

const Named = (names: readonly string[]) =>
  Type.Object(Object.fromEntries(names.map((name) => [name, Type.Unknown()])));

export const names = knownNames([
  schema,
  Named(MEMBERS),
  Type.Object({
    messages: Type.Array(Type.Object({ content: Type.Array(Type.Union(Object.values(PARTS))) })),
    tools: Type.Array(Type.Union(Object.values(TOOLS))),
    thinking: Named(['type', 'budget_tokens']),
    stream_options: Named(['include_usage', 'include_obfuscation', 'continuous_usage_stats']),
    provider: Named([
      'options',
      'order',
      'only',
      'ignore',
      'models',
      'fallback',
      'allow_fallbacks',
      'sort',
      'routing',
      'type',
    ]),
    chat_template_kwargs: Named(['thinking_budget', 'enable_thinking']),
  }),
]);
