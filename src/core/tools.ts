/** Names of tools, and those that a request allows or forces. */

import type { ChatRequest, Tool, ToolChoice } from './chat.ts';
import type { ToolName } from './tool-name.ts';

/** A text that is the same for two names only if their namespaces are the same too. */
export function toolKey({ name, namespace }: ToolName): string {
  return JSON.stringify(namespace === undefined ? [name] : [namespace, name]);
}

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
