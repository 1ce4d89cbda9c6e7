/** Tool names that an upstream's wire refuses get others on the way there, and their own back in the answer. */

import { createHash } from 'node:crypto';
import type { ChatEvent, ChatRequest, Part } from '../../core/chat.ts';

/** Short enough for every protocol. */
const LONGEST = 64;
const DIGEST = 8;

/** Renames in place; what was renamed, by the name the upstream knows. The same name always becomes the same, so that prompt caches hold. */
export function renameTools(request: ChatRequest, accepted: RegExp): Map<string, string> {
  const own = new Map<string, string>();
  const given = new Map<string, string>();

  function rename(name: string): string {
    if (accepted.test(name)) return name;
    const known = given.get(name);
    if (known) return known;
    const other = acceptable(name);
    given.set(name, other);
    own.set(other, name);
    return other;
  }

  function renamePart(part: Part): void {
    if (part.type === 'call') part.name = rename(part.name);
    else if (part.type === 'result' && part.name !== undefined) part.name = rename(part.name);
  }

  for (const tool of request.tools) tool.name = rename(tool.name);
  for (const turn of request.turns) turn.parts.forEach(renamePart);
  const { toolChoice } = request;
  if (toolChoice?.type === 'named') toolChoice.name = rename(toolChoice.name);
  if (toolChoice?.type === 'allowed') toolChoice.names = toolChoice.names.map(rename);
  return own;
}

/** The event with the client's own names. */
export function restoreName(event: ChatEvent, names: ReadonlyMap<string, string> | undefined): ChatEvent {
  if (event.type !== 'part-start' || event.part.type !== 'call') return event;
  const name = names?.get(event.part.name);
  return name === undefined ? event : { ...event, part: { ...event.part, name } };
}

/** Letters and digits of the name, and a digest that tells it from all others. */
function acceptable(name: string): string {
  const letters = name.replace(/[^a-zA-Z0-9_-]/g, '_').replace(/^[^a-zA-Z_]/, '_');
  const digest = createHash('sha256').update(name).digest('hex').slice(0, DIGEST);
  return `${letters.slice(0, LONGEST - DIGEST - 1)}_${digest}`;
}
