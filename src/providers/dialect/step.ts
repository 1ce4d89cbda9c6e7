/** Dialect of chat completions: a list of idempotent steps, each of which adapts one difference in place. */

import { isObject, type Json } from '../../core/json/json.ts';
import type { ModelRules } from '../../core/model.ts';
import type { Adaptation } from '../../core/provider.ts';

export type DialectStep = (body: Json, rules: ModelRules, result: Adaptation) => void;

export function dialect(...steps: DialectStep[]): (body: Json, rules: ModelRules) => Adaptation {
  return (body, rules) => {
    const result: Adaptation = { changed: false, dropped: [] };
    for (const step of steps) step(body, rules, result);
    return result;
  };
}

/** Default values, equal to an absent field. */
const FIELD_DEFAULTS: Record<string, Json> = {
  temperature: 1,
  top_p: 1,
  frequency_penalty: 0,
  presence_penalty: 0,
  logprobs: false,
  top_logprobs: 0,
  n: 1,
  parallel_tool_calls: true,
  store: false,
  service_tier: 'auto',
};

function isMeaningful(field: string, value: Json): boolean {
  if (value === null || value === FIELD_DEFAULTS[field]) return false;
  return !isObject(value) || Object.keys(value).length > 0;
}

/** Deletes a field, and reports it as dropped unless it had its default value. */
export function dropField(body: Json, field: string, result: Adaptation): void {
  if (body[field] === undefined) return;
  if (isMeaningful(field, body[field])) markDropped(field, result);
  delete body[field];
  result.changed = true;
}

export function markDropped(field: string, result: Adaptation): void {
  if (!result.dropped.includes(field)) result.dropped.push(field);
}

/** Sets a field; an equal value does not count as a change. */
export function setField(holder: Json, field: string, value: Json, result: Adaptation): void {
  if (holder[field] === value) return;
  holder[field] = value;
  result.changed = true;
}

/** Deletes a field without reporting it as dropped. */
export function removeField(holder: Json, field: string, result: Adaptation): void {
  if (holder[field] === undefined) return;
  delete holder[field];
  result.changed = true;
}
