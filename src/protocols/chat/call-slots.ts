/**
 * Call slots: assign the fragments of streamed tool calls to calls. Servers repeat an index for several calls, send none,
 * or send no id.
 */

import { isObject, type Json } from '../../core/json/json.ts';
import type { CallDelta } from '../../core/parts.ts';

export interface CallSlot {
  key: string;
  /** Only with the first fragment of a call. */
  id?: string;
}

export interface CallSlots {
  /** The call that a fragment belongs to. */
  slotOf(call: Json): CallSlot;
}

/** `generateId` makes the id of a call that has none, from the number of calls before it. */
export function createCallSlots(generateId: (position: number) => string): CallSlots {
  /** By index; a call of a server without indexes has a negative one, in order of appearance. */
  const byIndex = new Map<number, CallSlot>();
  const byId = new Map<string, CallSlot>();
  let latest: CallSlot | undefined;

  return {
    slotOf(call) {
      const { size } = byIndex;
      const isNew = Boolean(call.function?.name || call.custom?.name || call.id);
      const named = typeof call.index === 'number' ? byIndex.get(call.index) : byId.get(call.id);
      const known = named ?? (isNew || typeof call.index === 'number' ? undefined : latest);
      if (known && !(call.id && known.id && call.id !== known.id)) return { key: known.key };
      const index = call.index ?? -1 - size;
      const slot: CallSlot = { key: `${index}/${call.id || size}`, id: call.id || undefined };
      byIndex.set(index, slot);
      latest = slot;
      if (slot.id) byId.set(slot.id, slot);
      return { key: slot.key, id: slot.id ?? generateId(size) };
    },
  };
}

/** Name and arguments in a fragment of a call. */
export function callDelta(call: Json): CallDelta {
  if (call.type === 'custom' || (call.custom && !call.function)) {
    return { name: call.custom?.name, args: call.custom?.input ?? '', custom: true };
  }
  const { name, arguments: args } = call.function ?? {};
  return { name, args: isObject(args) ? JSON.stringify(args) : (args ?? '') };
}

/** Generated id of a call without one: unique in a conversation, because the answer's id is. */
export function generatedCallId(message: string, call: string): string {
  return `call_${message
    .replace(/^chatcmpl-/, '')
    .replace(/[^a-zA-Z0-9]/g, '')
    .slice(-24)}_${call}`;
}
