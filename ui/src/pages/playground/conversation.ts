/** A conversation and what belongs to its next turn: pictures, tools, the schema of the answer, and parameters. */

export interface Picture {
  name: string;
  /** Media type. */
  type: string;
  /** Base64. */
  data: string;
}

/** A tool call of the model. */
export interface ToolCall {
  name: string;
  /** JSON text, not complete until the answer is. */
  input: string;
  /** As the protocol names the call; absent where it does not. */
  id?: string | undefined;
  /** State that a provider wants back with the call. */
  signature?: string | undefined;
  /** Place in the answer, where later frames go on with the call. */
  place?: number | undefined;
}

export type Message =
  | { role: 'user'; text: string; pictures: readonly Picture[] }
  | { role: 'assistant'; text: string; calls: readonly ToolCall[] }
  | { role: 'tools'; results: readonly { call: ToolCall; text: string }[] };

export interface Tool {
  name: string;
  description?: string;
  /** JSON schema. */
  parameters: object;
}

export interface Turn {
  system: string;
  user: string;
  pictures: readonly Picture[];
  /** Tools as JSON text: a list of names, descriptions and schemas of parameters. */
  tools: string;
  /** JSON schema of the answer, as text. */
  schema: string;
  maxTokens: number | undefined;
  temperature: number | undefined;
  /** Whether the answer comes as a stream. */
  stream: boolean;
  /** More members of the request, as JSON text. */
  more: string;
}

const NO_TURN: Turn = {
  ...{ system: '', user: '', pictures: [], tools: '', schema: '', more: '' },
  ...{ maxTokens: undefined, temperature: undefined, stream: true },
};

/** An empty turn with a routing policy, as JSON text, in its parameters. */
export function turnWith(policy: string | undefined): Turn {
  return policy === undefined ? NO_TURN : { ...NO_TURN, more: `{ "provider": ${policy} }` };
}

export const EXAMPLE: Partial<Turn> = {
  system: 'Answer in one sentence.',
  user: 'Name three rivers that cross a border.',
  maxTokens: 200,
  more: '{ "top_k": 5 }',
};

export const EXAMPLE_TOOLS = `[
  {
    "name": "get_weather",
    "description": "Weather of a city now",
    "parameters": {
      "type": "object",
      "properties": { "city": { "type": "string" } },
      "required": ["city"]
    }
  }
]`;

export const EXAMPLE_SCHEMA = `{
  "type": "object",
  "properties": {
    "rivers": { "type": "array", "items": { "type": "string" } }
  },
  "required": ["rivers"],
  "additionalProperties": false
}`;

/** Turn that is sent next: results, where the last answer has called tools. */
export function nextMessage({ user, pictures }: Turn, before: readonly Message[]): Message {
  const last = before.at(-1);
  if (last?.role === 'assistant' && last.calls.length > 0)
    return { role: 'tools', results: last.calls.map((call) => ({ call, text: user })) };
  return { role: 'user', text: user, pictures };
}

/** Parts of a turn that is sent as this message. */
export function askedAgain(message: Message): Partial<Turn> {
  if (message.role === 'tools') return { user: message.results[0]?.text ?? '' };
  return { user: message.text, ...(message.role === 'user' && { pictures: message.pictures }) };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** More members as an object; throws for text that is none. */
export function moreMembers(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  const value = JSON.parse(text);
  if (isObject(value)) return value;
  throw new Error('it must be an object');
}

/** Members beside those of the body; of objects in both, those of both. */
export function withMembers(body: Record<string, unknown>, more: Record<string, unknown>): Record<string, unknown> {
  const all = { ...body, ...more };
  for (const [name, value] of Object.entries(more)) {
    const own = body[name];
    if (isObject(own) && isObject(value)) all[name] = { ...own, ...value };
  }
  return all;
}

/** Throws for text that is no list of tools. The forms of other protocols are understood, too. */
export function toolsOf(text: string): Tool[] {
  if (text.trim() === '') return [];
  const value = JSON.parse(text);
  return (Array.isArray(value) ? value : [value]).map((entry, index) => {
    const tool = isObject(entry) && isObject(entry.function) ? entry.function : entry;
    const parameters = isObject(tool) ? (tool.parameters ?? tool.input_schema ?? { type: 'object' }) : undefined;
    if (!isObject(tool) || typeof tool.name !== 'string' || !isObject(parameters))
      throw new Error(`tool ${index + 1} must have a name, and parameters that are a schema`);
    return {
      name: tool.name,
      parameters,
      ...(typeof tool.description === 'string' && { description: tool.description }),
    };
  });
}

export function schemaOf(text: string): Record<string, unknown> | undefined {
  return text.trim() === '' ? undefined : moreMembers(text);
}

/** Parts of a turn that cannot be sent, in words. */
export function problemOf({ more, tools, schema }: Turn): string | undefined {
  const checks: [words: string, check: () => unknown][] = [
    ['More fields are no JSON object', () => moreMembers(more)],
    ['The tools are no JSON list', () => toolsOf(tools)],
    ['The schema is no JSON object', () => schemaOf(schema)],
  ];
  for (const [words, check] of checks) {
    try {
      check();
    } catch (error) {
      return `${words}: ${(error as Error).message}`;
    }
  }
  return undefined;
}
