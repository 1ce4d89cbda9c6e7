/** Allowed tools of a request. */

import type { ChatRequest, Tool } from './chat.ts';
import { toolKey } from './tool-name.ts';

/** All tools, or only those named by the tool choice. */
export function allowedTools({ tools, toolChoice }: Pick<ChatRequest, 'tools' | 'toolChoice'>): Tool[] {
  if (toolChoice?.type !== 'allowed') return tools;
  const allowed = new Set(toolChoice.tools.map(toolKey));
  return tools.filter((tool) => allowed.has(toolKey(tool)));
}
