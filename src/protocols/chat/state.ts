/** Wrapped state in a body relayed to an upstream of chat completions. */

import { isObject, type Json } from '../../core/json/json.ts';
import { unwrap } from '../../core/opaque.ts';
import { callSignature, encodeOwnDetail } from './reasoning.ts';

/** Unwraps state of `origin` and removes other state with its reasoning, in place; returns whether the body changed. */
export function restoreState(body: Json, origin: string): boolean {
  const messages: Json[] = Array.isArray(body?.messages) ? body.messages.filter(isObject) : [];
  const changes = messages.map((message) => {
    const details = restoreDetails(message, origin);
    const calls = (Array.isArray(message.tool_calls) ? message.tool_calls : []).map((call: Json) =>
      restoreCall(call, origin),
    );
    return details || calls.includes(true);
  });
  return changes.includes(true);
}

function restoreDetails(message: Json, origin: string): boolean {
  const details: Json[] = Array.isArray(message.reasoning_details) ? message.reasoning_details : [];
  if (!details.some((detail) => unwrap(detail?.signature ?? detail?.data))) return false;
  const foreign = new Set<unknown>();
  const restored = details.map((detail) => {
    const state = unwrap(detail?.signature ?? detail?.data);
    if (!state) return detail;
    if (state.origin === origin) return encodeOwnDetail(detail.text ?? '', state);
    if (detail.type === 'reasoning.text') foreign.add(detail.index);
    return undefined;
  });
  const kept = restored.filter((detail) => detail && !(detail.type === 'reasoning.text' && foreign.has(detail.index)));
  if (kept.length > 0) message.reasoning_details = kept;
  else delete message.reasoning_details;
  if (foreign.size > 0) {
    delete message.reasoning;
    delete message.reasoning_content;
  }
  return true;
}

function restoreCall(call: Json, origin: string): boolean {
  const state = unwrap(callSignature(call));
  if (!state) return false;
  if (state.origin === origin) call.extra_content.google.thought_signature = state.value;
  else delete call.extra_content;
  return true;
}
