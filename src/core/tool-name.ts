/** Name of a tool, with its namespace. */

/** Tools in two namespaces may have the same name. */
export interface ToolName {
  name: string;
  namespace?: string;
}
