/** A conversation as the body of a request in each protocol. */

import {
  type Message,
  moreMembers,
  type Picture,
  schemaOf,
  type Tool,
  type ToolCall,
  type Turn,
  toolsOf,
  withMembers,
} from './conversation.ts';
import type { Wire } from './protocols.ts';

type Body = Record<string, unknown>;

interface Asked {
  model: string;
  turn: Turn;
  messages: readonly Message[];
  tools: readonly Tool[];
  schema: object | undefined;
}

const DEFAULT_MAX_TOKENS = 1024;
/** Name of a schema where a protocol wants one. */
const SCHEMA_NAME = 'answer';

/** Members that are undefined are not sent. */
const BODIES: Record<Wire, (asked: Asked) => Body> = {
  chat: ({ model, turn: { system, stream, ...turn }, messages, tools, schema }) => ({
    model,
    messages: [...(system ? [{ role: 'system', content: system }] : []), ...messages.flatMap(chatMessages)],
    tools: listOf(tools, (tool) => ({ type: 'function', function: tool })),
    response_format: schema && { type: 'json_schema', json_schema: { name: SCHEMA_NAME, schema } },
    ...parametersOf('chat', turn),
    ...(stream && { stream, stream_options: { include_usage: true } }),
  }),
  messages: ({ model, turn: { system, stream, ...turn }, messages, tools, schema }) => ({
    model,
    ...parametersOf('messages', { ...turn, maxTokens: turn.maxTokens ?? DEFAULT_MAX_TOKENS }),
    system: system || undefined,
    messages: messages.map(messagesMessage),
    tools: listOf(tools, ({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })),
    output_config: schema && { format: { type: 'json_schema', schema } },
    ...(stream && { stream }),
  }),
  generate: ({ turn: { system, ...turn }, messages, tools, schema }) => ({
    systemInstruction: system ? { parts: [{ text: system }] } : undefined,
    contents: messages.map(generateContent),
    tools:
      tools.length > 0
        ? [
            {
              functionDeclarations: tools.map(({ parameters, ...tool }) => ({
                ...tool,
                parametersJsonSchema: parameters,
              })),
            },
          ]
        : undefined,
    generationConfig: {
      ...(parametersOf('generate', turn).generationConfig as object),
      ...(schema && { responseMimeType: 'application/json', responseJsonSchema: schema }),
    },
  }),
  responses: ({ model, turn: { system, stream, ...turn }, messages, tools, schema }) => ({
    model,
    instructions: system || undefined,
    input: inputOf(messages),
    tools: listOf(tools, (tool) => ({ type: 'function', ...tool, strict: false })),
    text: schema && { format: { type: 'json_schema', name: SCHEMA_NAME, schema } },
    ...parametersOf('responses', turn),
    ...(stream && { stream }),
    store: false,
  }),
};

/** Body of a request that goes on with a conversation. Throws for JSON that is wrong. */
export function bodyOf(wire: Wire, asked: Omit<Asked, 'tools' | 'schema'>): Body {
  const { turn } = asked;
  const body = BODIES[wire]({ ...asked, tools: toolsOf(turn.tools), schema: schemaOf(turn.schema) });
  return JSON.parse(JSON.stringify(withMembers(body, moreMembers(turn.more))));
}

/** The fields of parameters as members of the body. */
export function parametersOf(wire: Wire, { maxTokens, temperature }: Pick<Turn, 'maxTokens' | 'temperature'>): Body {
  switch (wire) {
    case 'chat':
      return { max_completion_tokens: maxTokens, temperature };
    case 'messages':
      return { max_tokens: maxTokens, temperature };
    case 'generate':
      return { generationConfig: { maxOutputTokens: maxTokens, temperature } };
    case 'responses':
      return { max_output_tokens: maxTokens, temperature };
  }
}

function listOf<Item>(items: readonly Item[], encode: (item: Item) => object): object[] | undefined {
  return items.length > 0 ? items.map(encode) : undefined;
}

const dataUrl = ({ type, data }: Picture) => `data:${type};base64,${data}`;
const idOf = ({ id }: ToolCall, index: number) => id ?? `call_${index + 1}`;

function inputObject({ input }: ToolCall): unknown {
  try {
    return JSON.parse(input || '{}');
  } catch {
    return {};
  }
}

function chatMessages(message: Message): object[] {
  switch (message.role) {
    case 'user': {
      const pictures = message.pictures.map((one) => ({ type: 'image_url', image_url: { url: dataUrl(one) } }));
      const content = pictures.length > 0 ? [{ type: 'text', text: message.text }, ...pictures] : message.text;
      return [{ role: 'user', content }];
    }
    case 'assistant': {
      const calls = message.calls.map((call, index) => ({
        ...{ id: idOf(call, index), type: 'function' },
        function: { name: call.name, arguments: call.input || '{}' },
      }));
      return [{ role: 'assistant', content: message.text || null, ...(calls.length > 0 && { tool_calls: calls }) }];
    }
    case 'tools':
      return message.results.map(({ call, text }, index) => ({
        role: 'tool',
        tool_call_id: idOf(call, index),
        content: text,
      }));
  }
}

function messagesMessage(message: Message): object {
  switch (message.role) {
    case 'user': {
      const pictures = message.pictures.map(({ type, data }) => ({
        type: 'image',
        source: { type: 'base64', media_type: type, data },
      }));
      const content = pictures.length > 0 ? [...pictures, { type: 'text', text: message.text }] : message.text;
      return { role: 'user', content };
    }
    case 'assistant': {
      const calls = message.calls.map((call, index) => ({
        type: 'tool_use',
        id: idOf(call, index),
        name: call.name,
        input: inputObject(call),
      }));
      const text = message.text ? [{ type: 'text', text: message.text }] : [];
      return { role: 'assistant', content: calls.length > 0 ? [...text, ...calls] : message.text };
    }
    case 'tools': {
      const results = message.results.map(({ call, text }, index) => ({
        type: 'tool_result',
        tool_use_id: idOf(call, index),
        content: text,
      }));
      return { role: 'user', content: results };
    }
  }
}

function generateContent(message: Message): object {
  switch (message.role) {
    case 'user': {
      const pictures = message.pictures.map(({ type, data }) => ({ inlineData: { mimeType: type, data } }));
      return { role: 'user', parts: [{ text: message.text }, ...pictures] };
    }
    case 'assistant': {
      const calls = message.calls.map((call) => ({
        functionCall: { ...(call.id && { id: call.id }), name: call.name, args: inputObject(call) },
        ...(call.signature && { thoughtSignature: call.signature }),
      }));
      return { role: 'model', parts: [...(message.text ? [{ text: message.text }] : []), ...calls] };
    }
    case 'tools': {
      const parts = message.results.map(({ call, text }) => ({
        functionResponse: { ...(call.id && { id: call.id }), name: call.name, response: { result: text } },
      }));
      return { role: 'user', parts };
    }
  }
}

/** One plain question is a text. */
function inputOf(messages: readonly Message[]): string | object[] {
  const [only, ...more] = messages;
  if (only?.role === 'user' && only.pictures.length === 0 && more.length === 0) return only.text;
  return messages.flatMap(responsesItems);
}

function responsesItems(message: Message): object[] {
  switch (message.role) {
    case 'user': {
      const pictures = message.pictures.map((one) => ({ type: 'input_image', image_url: dataUrl(one) }));
      return [{ role: 'user', content: [{ type: 'input_text', text: message.text }, ...pictures] }];
    }
    case 'assistant': {
      const text = message.text
        ? [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: message.text }] }]
        : [];
      const calls = message.calls.map((call, index) => ({
        ...{ type: 'function_call', call_id: idOf(call, index) },
        ...{ name: call.name, arguments: call.input || '{}' },
      }));
      return [...text, ...calls];
    }
    case 'tools':
      return message.results.map(({ call, text }, index) => ({
        ...{ type: 'function_call_output', call_id: idOf(call, index), output: text },
      }));
  }
}
