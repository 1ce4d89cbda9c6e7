/** Text of a whole answer in hub form, by which an answer without usage is measured. */

import type { ChatResponse, OpenPart } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';
import { usageOf } from './usage.ts';

/** Reads text, refusals, reasoning and calls; other items are work of the provider. */
export function decodeResponse(body: Json): ChatResponse {
  const items: Json[] = Array.isArray(body.output) ? body.output : [];
  const usage = usageOf(body);
  return {
    id: String(body.id ?? ''),
    model: String(body.model ?? ''),
    candidates: [{ parts: items.flatMap(partsOf), finish: { reason: 'other', raw: String(body.status ?? '') } }],
    ...(usage && { usage: { input: 0, output: 0, ...usage } }),
  };
}

function partsOf(item: Json): OpenPart[] {
  switch (item?.type) {
    case 'message':
      return textsOf(item.content).map((text) => ({ type: 'text', text }));
    case 'reasoning':
      return [...textsOf(item.content), ...textsOf(item.summary)].map((text) => ({ type: 'reasoning', text }));
    case 'function_call':
    case 'custom_tool_call':
      return [
        {
          type: 'call',
          id: String(item.call_id ?? ''),
          name: String(item.name ?? ''),
          args: String(item.arguments ?? item.input ?? ''),
        },
      ];
    default:
      return [];
  }
}

function textsOf(parts: Json): string[] {
  return (Array.isArray(parts) ? parts : [])
    .map((part) => part?.text ?? part?.refusal)
    .filter((text) => typeof text === 'string');
}
