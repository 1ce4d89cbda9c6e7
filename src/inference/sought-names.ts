/** Names of members that are looked for while a body is scanned, so that most bodies are not searched afterwards. */

import type { SoughtNames } from '../core/json/names.ts';
import type { Operation } from '../core/operation.ts';
import type { InferenceCall } from '../routing/inference-call.ts';

/** Bits of the kinds of names that were found. */
export const STATE_MEMBER = 1;
export const MEDIA_MEMBER = 2;

/** Members that hold inline media in one of the protocols. */
const MEDIA_NAMES = [
  'image_url',
  'input_audio',
  'audio_url',
  'video_url',
  'document_url',
  'file_data',
  'data',
  'inlineData',
  'inline_data',
];

const namesByOperation = new WeakMap<object, SoughtNames>();

export function soughtNames(operation: Pick<Operation, 'state'>): SoughtNames {
  const known = namesByOperation.get(operation);
  if (known) return known;
  const names = new Map<string, number>();
  for (const name of operation.state?.fields ?? []) names.set(name, STATE_MEMBER);
  for (const name of MEDIA_NAMES) names.set(name, (names.get(name) ?? 0) | MEDIA_MEMBER);
  namesByOperation.set(operation, names);
  return names;
}

/** Whether the bytes of a call are known to have no member of a kind; false if they changed since they were scanned. */
export function lacks({ bytes, scanned }: Pick<InferenceCall, 'bytes' | 'scanned'>, kind: number): boolean {
  return scanned?.bytes === bytes && (scanned.found & kind) === 0;
}
