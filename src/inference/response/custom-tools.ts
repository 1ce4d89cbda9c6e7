/**
 * Custom tools of chat completions, whose input is free text, at upstreams that only have functions: the encoders declare a
 * function with one text field `input`, and its calls are converted back to free text here.
 */

import type { CallPart, ChatEvent, ChatRequest } from '../../core/chat.ts';
import { parseObject } from '../../core/json/json.ts';
import { toolKey } from '../../core/tool-name.ts';

/** Unwraps the calls of custom tools. Such a call becomes one event, because its text is only known at its end. */
export function createUnwrapper(request: ChatRequest | undefined): (event: ChatEvent) => ChatEvent[] {
  const names = new Set(request?.tools.filter((tool) => tool.custom).map(toolKey));
  const open = new Map<number, CallPart>();

  return (event) => {
    if (
      event.type === 'part-start' &&
      event.part.type === 'call' &&
      names.has(toolKey(event.part)) &&
      !event.part.custom
    ) {
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

/** The text of `input`; arguments of another form are returned unchanged. */
function textOf(args: string): string {
  const input = parseObject(args)?.input;
  return typeof input === 'string' ? input : args;
}
