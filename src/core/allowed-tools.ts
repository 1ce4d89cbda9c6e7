/** Allowed tools of a request. */

import type { ChatRequest, Tool } from './chat.ts';

/** All tools, or only those named by the tool choice. */
export function allowedTools({ tools, toolChoice }: Pick<ChatRequest, 'tools' | 'toolChoice'>): Tool[] {
  if (toolChoice?.type !== 'allowed') return tools;
  const names = new Set(toolChoice.names);
  return tools.filter((tool) => names.has(tool.name));
}
