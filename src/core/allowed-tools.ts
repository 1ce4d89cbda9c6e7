/** The tools that a request lets the model call. */

import type { ChatRequest, Tool } from './chat.ts';

/** All tools, or those that the choice names. */
export function allowedTools({ tools, toolChoice }: Pick<ChatRequest, 'tools' | 'toolChoice'>): Tool[] {
  if (toolChoice?.type !== 'allowed') return tools;
  const names = new Set(toolChoice.names);
  return tools.filter((tool) => names.has(tool.name));
}
