/**
 * Free-text tools of chat completions at upstreams that only know functions: there each is a function with one text
 * field `input` (see the encoders), and its calls become free text again here.
 */

import type { CallPart, ChatEvent, ChatRequest } from '../../core/chat.ts';
import { parseObject } from '../../core/json/json.ts';

/** Events with the calls of custom tools unwrapped; such a call comes in one piece, as its text is only known at its end. */
export function createUnwrapper(request: ChatRequest | undefined): (event: ChatEvent) => ChatEvent[] {
  const names = new Set(request?.tools.filter((tool) => tool.custom).map((tool) => tool.name));
  const open = new Map<number, CallPart>();

  return (event) => {
    if (event.type === 'part-start' && event.part.type === 'call' && names.has(event.part.name) && !event.part.custom) {
      open.set(event.index, { ...event.part, custom: true });
      return [{ ...event, part: { ...event.part, args: '', custom: true } }];
    }
    const call = 'index' in event ? open.get(event.index) : undefined;
    if (!call) return [event];
    if (event.type === 'part-delta') {
      call.args += event.text ?? '';
      return event.opaque ? [{ ...event, text: undefined }] : [];
    }
    if (event.type !== 'part-end') return [event];
    open.delete(event.index);
    return [{ type: 'part-delta', index: event.index, text: textOf(call.args) }, event];
  };
}

/** What the model put there is kept as it is when it is not the one field. */
function textOf(args: string): string {
  const input = parseObject(args)?.input;
  return typeof input === 'string' ? input : args;
}
