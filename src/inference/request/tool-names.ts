/** Tool renaming: replaces tool names that the upstream refuses, and restores them in the answer. */

import { createHash } from 'node:crypto';
import type { ChatEvent, ChatRequest, Part } from '../../core/chat.ts';

/** Maximum length of a tool name in every protocol. */
const MAX_NAME_CHARACTERS = 64;
const DIGEST_CHARACTERS = 8;

/** Renames in place; returns client names by upstream name. Deterministic, so that prompt caches stay valid. */
export function renameTools(request: ChatRequest, accepted: RegExp): Map<string, string> {
  const clientNames = new Map<string, string>();
  const upstreamNames = new Map<string, string>();

  function rename(name: string): string {
    if (accepted.test(name)) return name;
    const known = upstreamNames.get(name);
    if (known) return known;
    const upstreamName = acceptable(name);
    upstreamNames.set(name, upstreamName);
    clientNames.set(upstreamName, name);
    return upstreamName;
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
  return clientNames;
}

/** The event with the client's tool name. */
export function restoreName(event: ChatEvent, names: ReadonlyMap<string, string> | undefined): ChatEvent {
  if (event.type !== 'part-start' || event.part.type !== 'call') return event;
  const name = names?.get(event.part.name);
  return name === undefined ? event : { ...event, part: { ...event.part, name } };
}

/** Accepted name: the letters and digits of the name, and a digest that makes it unique. */
function acceptable(name: string): string {
  const letters = name.replace(/[^a-zA-Z0-9_-]/g, '_').replace(/^[^a-zA-Z_]/, '_');
  const digest = createHash('sha256').update(name).digest('hex').slice(0, DIGEST_CHARACTERS);
  return `${letters.slice(0, MAX_NAME_CHARACTERS - DIGEST_CHARACTERS - 1)}_${digest}`;
}
