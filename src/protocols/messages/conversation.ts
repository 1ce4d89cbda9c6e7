/** Conversation body of the messages protocol, shared by its operations. */

import type { Fields } from '../../core/fields.ts';
import { isObject, type Json, parseObject, textOf } from '../../core/json/json.ts';
import { ENVELOPE_MARK } from '../../core/opaque.ts';
import { outline } from '../../core/outline.ts';
import { countSinceModel } from '../../core/results.ts';
import type { StateAccess } from '../../core/state-access.ts';
import { restoreState } from './state.ts';

const SESSION_OF_AGENT = /^user_[^_]*_account_[^_]*_session_([\w-]+)$/;
/** Ids that are longer are of no agent. */
const MAX_READ_CHARACTERS = 1000;

/** Text that identifies the conversation: a session header, the user id, the thread's last answer, or an outline of its first turn. */
export function conversation({ metadata, messages, thread }: Json, headers: Fields): string {
  const named = headers['x-claude-code-session-id'] ?? headers['x-session-id'] ?? headers['x-litellm-session-id'];
  return String(named ?? metadata?.user_id ?? thread?.previous_message_id ?? outline(messages[0]));
}

/** A thread is continued by the id of its last answer. */
export function isContinuedById({ thread }: Json): boolean {
  return isObject(thread);
}

/** Claude Code names machine, account and session in one text, as JSON since its version 2.1.78. */
export function conversationName({ metadata }: Json): Json {
  const id = metadata?.user_id;
  if (typeof id !== 'string' || id.length > MAX_READ_CHARACTERS) return id;
  const named = id.startsWith('{') ? parseObject(id)?.session_id : SESSION_OF_AGENT.exec(id)?.[1];
  return textOf(named) ?? id;
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
