/** Conversation body of the messages protocol, shared by its operations. */

import type { Json } from '../../core/json/json.ts';
import { ENVELOPE_MARK } from '../../core/opaque.ts';
import type { Headers } from '../../core/operation.ts';
import { outline } from '../../core/outline.ts';
import { countSinceModel } from '../../core/results.ts';
import type { StateAccess } from '../../core/state-access.ts';
import { restoreState } from './state.ts';

export function conversation({ metadata, messages }: Json, headers: Headers): string {
  const named = headers['x-claude-code-session-id'] ?? headers['x-session-id'] ?? headers['x-litellm-session-id'];
  return String(named ?? metadata?.user_id ?? outline(messages[0]));
}

export function toolFailuresOf({ messages }: Json): number {
  return countSinceModel(messages, {
    isOfModel: ({ role }) => role === 'assistant',
    partsOf: ({ content }) => content,
    isCounted: (block) => block.type === 'tool_result' && block.is_error === true,
  });
}

export const state: StateAccess = {
  fields: ['signature', 'data'],
  modelTurns: ({ messages }) => messages.filter(({ role }: Json) => role === 'assistant'),
  restore: restoreState,
  marks: [ENVELOPE_MARK, '"thinking"'],
};

export const gatewayFields = ['provider', 'models'];

export const requestModel = { paths: [['model']], required: true, spell: (model: string) => model };

/** Some clients take `v1` as part of their base address and some leave it out. */
export function messagesPaths(prefix: string): string[] {
  return [`/${prefix}/v1/messages`, `/${prefix}/messages`];
}
