/** Conversation body of generateContent, shared by its operations. */

import type { Fields } from '../../core/fields.ts';
import type { Json } from '../../core/json/json.ts';
import { ENVELOPE_MARK } from '../../core/opaque.ts';
import { outline } from '../../core/outline.ts';
import { countSinceModel } from '../../core/results.ts';
import type { StateAccess } from '../../core/state-access.ts';
import { restoreState } from './state.ts';

/** Text that identifies the conversation: a session header, or an outline of its first turn. */
export function conversation(body: Json, headers: Fields): string {
  const named = headers['x-session-id'] ?? headers['x-litellm-session-id'];
  return String(named ?? outline((body.generateContentRequest ?? body).contents?.[0] ?? ''));
}

export function toolFailuresOf({ contents }: Json): number {
  return countSinceModel(contents, {
    isOfModel: ({ role }) => role === 'model',
    partsOf: ({ parts }) => parts,
    isCounted: (part) => Boolean((part.functionResponse ?? part.function_response)?.response?.error),
  });
}

export const state: StateAccess = {
  fields: ['thoughtSignature', 'thought_signature'],
  modelTurns: ({ contents }) => (Array.isArray(contents) ? contents.filter((turn) => turn?.role === 'model') : []),
  restore: restoreState,
  marks: [ENVELOPE_MARK],
};

export const requestModel = {
  // The path names the model; some servers prefer a different model in the body.
  paths: [['model'], ['generateContentRequest', 'model'], ['generate_content_request', 'model']],
  required: false,
  spell: (model: string) => `models/${model}`,
};
