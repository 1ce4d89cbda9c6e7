/**
 * Free-text tools at upstreams that only have functions: the encoders declare a function with one text field `input`, and
 * its calls are converted back to free text here, as their fragments come.
 */

import type { ChatEvent, ChatRequest } from '../../core/chat.ts';
import { toolKey } from '../../core/tool-name.ts';
import { createInputReader, type InputReader } from './input-reader.ts';

/** Unwraps the calls of free-text tools. */
export function createUnwrapper(request: ChatRequest | undefined): (event: ChatEvent) => ChatEvent[] {
  const names = new Set(request?.tools.filter((tool) => tool.custom).map(toolKey));
  const open = new Map<number, InputReader>();

  return (event) => {
    if (event.type === 'part-start' && event.part.type === 'call' && isWrapped(event.part)) {
      const reader = createInputReader();
      open.set(event.index, reader);
      return [{ ...event, part: { ...event.part, args: reader.push(event.part.args), custom: true } }];
    }
    const reader = 'index' in event ? open.get(event.index) : undefined;
    if (!reader) return [event];
    if (event.type === 'part-delta') {
      const text = reader.push(event.text ?? '');
      if (text !== '') return [{ ...event, text }];
      return event.opaque ? [{ ...event, text: undefined }] : [];
    }
    if (event.type !== 'part-end') return [event];
    open.delete(event.index);
    const rest = reader.end();
    return rest === '' ? [event] : [{ type: 'part-delta', index: event.index, text: rest }, event];
  };

  function isWrapped({ name, namespace, custom }: { name: string; namespace?: string; custom?: boolean }): boolean {
    return !custom && names.has(toolKey({ name, ...(namespace !== undefined && { namespace }) }));
  }
}
