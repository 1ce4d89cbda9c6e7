/** Tool renaming: replaces tool names that the upstream refuses, and namespaces, which only Responses has, and restores them in the answer. */

import { createHash } from 'node:crypto';
import type { ChatEvent, ChatRequest, Part, Tool } from '../../core/chat.ts';
import type { ToolName } from '../../core/tool-name.ts';
import { toolKey } from '../../core/tools.ts';

/** Maximum length of a tool name in every protocol. */
const MAX_NAME_CHARACTERS = 64;
const DIGEST_CHARACTERS = 8;

/** Between a namespace and a name, as in the names of tools of MCP servers. */
const SEPARATOR = '__';

/** The client's names of renamed tools, by the key of the upstream's name. */
export type ClientToolNames = ReadonlyMap<string, ToolName>;

/** Renames in place. Deterministic, so that prompt caches stay valid. */
export function renameTools(request: ChatRequest, accepted: RegExp): ClientToolNames {
  const clientNames = new Map<string, ToolName>();
  const upstreamNames = new Map<string, ToolName>();
  const plainNames = request.tools.filter(({ namespace }) => namespace === undefined).map(({ name }) => name);
  const taken = new Set(plainNames);

  function nameFor({ name, namespace }: ToolName): ToolName {
    if (namespace === undefined) return { name: accepted.test(name) ? name : acceptable(name) };
    const joined = namespace + SEPARATOR + name;
    const isFree = accepted.test(joined) && !taken.has(joined);
    const flat = isFree ? joined : acceptable(joined, toolKey({ name, namespace }));
    taken.add(flat);
    return { name: flat };
  }

  function rename(tool: Partial<ToolName>): void {
    const { name, namespace } = tool;
    if (name === undefined) return;
    const client: ToolName = { name, ...(namespace !== undefined && { namespace }) };
    const key = toolKey(client);
    const upstream = upstreamNames.get(key) ?? nameFor(client);
    upstreamNames.set(key, upstream);
    if (toolKey(upstream) === key) return;
    clientNames.set(toolKey(upstream), client);
    delete tool.namespace;
    Object.assign(tool, upstream);
  }

  function renamePart(part: Part): void {
    if (part.type === 'call' || part.type === 'result') rename(part);
  }

  describeNamespaces(request.tools);
  for (const tool of request.tools) rename(tool);
  for (const turn of request.turns) turn.parts.forEach(renamePart);
  const { toolChoice } = request;
  if (toolChoice?.type === 'named') rename(toolChoice);
  if (toolChoice?.type === 'allowed') toolChoice.tools.forEach(rename);
  return clientNames;
}

/** The first tool of a namespace tells its description. */
function describeNamespaces(tools: Tool[]): void {
  const described = new Set<string>();
  for (const tool of tools) {
    const { namespace, namespaceDescription, description } = tool;
    delete tool.namespaceDescription;
    if (namespace === undefined || !namespaceDescription || described.has(namespace)) continue;
    described.add(namespace);
    const about = `About all tools whose names begin with ${namespace}${SEPARATOR}: ${namespaceDescription}`;
    tool.description = description ? `${description}\n\n${about}` : about;
  }
}

/** The event with the client's tool name. */
export function restoreName(event: ChatEvent, names: ClientToolNames | undefined): ChatEvent {
  if (event.type !== 'part-start' || event.part.type !== 'call') return event;
  const client = names?.get(toolKey(event.part));
  return client === undefined ? event : { ...event, part: { ...event.part, ...client } };
}

/** Accepted name: the letters and digits of the name, and a digest that makes it unique. */
function acceptable(name: string, digested = name): string {
  const letters = name.replace(/[^a-zA-Z0-9_-]/g, '_').replace(/^[^a-zA-Z_]/, '_');
  const digest = createHash('sha256').update(digested).digest('hex').slice(0, DIGEST_CHARACTERS);
  return `${letters.slice(0, MAX_NAME_CHARACTERS - DIGEST_CHARACTERS - 1)}_${digest}`;
}
