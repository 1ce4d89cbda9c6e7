/** Names of tools, compared with their namespaces. */

/** Tools in two namespaces may have the same name. */
export interface ToolName {
  name: string;
  namespace?: string;
}

/** A text that is the same for two names only if their namespaces are the same too. */
export function toolKey({ name, namespace }: ToolName): string {
  return JSON.stringify(namespace === undefined ? [name] : [namespace, name]);
}
