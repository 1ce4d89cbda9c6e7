/**
 * Tools that the client runs and some models are trained on: shell and patches. Other protocols have functions in their
 * place, with the documented action as arguments; their calls are built again for the client, which waits for these items.
 */

import type { CallPart, Part, Tool } from '../../core/chat.ts';
import { readArguments } from '../../core/custom-tool.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { lookUp } from '../../core/plain-objects.ts';

interface BuiltIn {
  description: string;
  parameters: Json;
  /** Prefix of the ids of its calls. */
  prefix: string;
  /** The members of a call, from the arguments of the function. */
  call(args: Json): Json;
}

const Words = { type: 'array', items: { type: 'string' } };
const Count = { type: 'integer' };

const PATCH_DESCRIPTION = `Creates, changes or deletes one file. A diff has one line for each line of text, with the prefix "+" for an added, "-" for a removed and " " for a kept line.
create_file: every line of the new file with "+". update_file: for each change some kept lines around it; a line that begins with "@@" may name the function or section that the change is in. delete_file: no diff.`;

const BUILT_INS: Record<string, BuiltIn> = {
  shell: {
    description: 'Runs shell commands, independent of each other, and returns the output of each.',
    parameters: {
      type: 'object',
      properties: { commands: Words, timeout_ms: Count, max_output_length: Count },
      required: ['commands'],
    },
    prefix: 'sh',
    call: ({ commands, timeout_ms = null, max_output_length = null }) => ({
      action: { commands: wordsOf(commands), timeout_ms, max_output_length },
    }),
  },
  local_shell: {
    description: 'Runs one program with its arguments, and returns its output.',
    parameters: {
      type: 'object',
      properties: { command: Words, working_directory: { type: 'string' }, timeout_ms: Count },
      required: ['command'],
    },
    prefix: 'lsh',
    call: ({ command, working_directory = null, timeout_ms = null, env }) => ({
      action: { type: 'exec', command: wordsOf(command), env: isObject(env) ? env : {}, timeout_ms, working_directory },
    }),
  },
  apply_patch: {
    description: PATCH_DESCRIPTION,
    parameters: {
      type: 'object',
      properties: {
        type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
        path: { type: 'string' },
        diff: { type: 'string' },
      },
      required: ['type', 'path'],
    },
    prefix: 'apc',
    call: ({ type, path, diff }) => ({
      operation: type === 'delete_file' ? { type, path } : { type, path, diff: String(diff ?? '') },
    }),
  },
};

/** The function in the place of a built-in tool; undefined for other types. */
export function builtInTool(type: unknown): Tool | undefined {
  const builtIn = lookUp(BUILT_INS, type);
  return builtIn && { name: String(type), description: builtIn.description, parameters: builtIn.parameters };
}

/** Prefix of the id of a call; undefined for other tools. */
export function builtInPrefix(name: string): string | undefined {
  return lookUp(BUILT_INS, name)?.prefix;
}

/** The item of a call with complete arguments. */
export function encodeBuiltInCall({ name, args, id }: CallPart, itemId: string): Json {
  const members = lookUp(BUILT_INS, name)?.call(readArguments(args) ?? {});
  return { type: `${name}_call`, id: itemId, call_id: id, ...members, status: 'completed' };
}

/** A call in the history of a client. */
export function decodeBuiltInCall(item: Json): CallPart {
  const { type, call_id: id, action, actions, operation } = item;
  const args = JSON.stringify(action ?? operation ?? { actions });
  return { type: 'call', id, name: type.slice(0, -'_call'.length), args };
}

/** Text of the output of a built-in tool, and whether it failed. */
export function decodeBuiltInOutput({ output, status }: Json): { parts: Part[]; isError?: true } {
  const text = typeof output === 'string' ? output : JSON.stringify(output ?? { status });
  return { parts: text === '' ? [] : [{ type: 'text', text }], ...(status === 'failed' && { isError: true }) };
}

function wordsOf(value: Json): string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.map((word) => String(word)) : [];
}
