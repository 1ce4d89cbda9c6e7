/** Tools that a request allows, and calls that it forces. */

import type { ChatRequest, Tool, ToolChoice } from './chat.ts';
import { toolKey } from './tool-name.ts';

/** All tools, or only those named by the tool choice. */
export function allowedTools({ tools, toolChoice }: Pick<ChatRequest, 'tools' | 'toolChoice'>): Tool[] {
  if (toolChoice?.type !== 'allowed') return tools;
  const allowed = new Set(toolChoice.tools.map(toolKey));
  return tools.filter((tool) => allowed.has(toolKey(tool)));
}

/** Whether the model must call a tool. */
export function isForced(choice: ToolChoice | undefined): boolean {
  return choice?.type === 'required' || choice?.type === 'named' || (choice?.type === 'allowed' && choice.required);
}
