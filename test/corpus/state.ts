/** The turn after an answer: what a client hands back of it, and which state of the provider arrives there again. */

import type { Json } from '../../src/core/json/json.ts';
import type { RecordedId, UpstreamId } from './recordings.ts';

/** The assistant's turn in an answer, as a client puts it into its history. */
export function turnIn(protocol: RecordedId, answer: Json): Json {
  switch (protocol) {
    case 'chat':
      return answer.choices[0].message ?? {};
    case 'messages':
      return { role: 'assistant', content: answer.content };
    case 'generate':
      return answer.candidates?.[0]?.content ?? { role: 'model', parts: [] };
    case 'responses':
      return answer.output ?? [];
    case 'converse':
      return answer.output.message;
  }
}

/** The turn of a client that keeps only what its protocol documents. */
export function documented(turn: Json): Json {
  const { role, content, tool_calls: calls } = turn;
  return {
    role,
    content,
    tool_calls: calls.map(({ id, type, function: called }: Json) => ({ id, type, function: called })),
  };
}

/** The next request: every call of the turn answered, or a new question. Undefined for a turn that nothing can follow. */
export function requestAfter(client: UpstreamId, turn: Json): Json {
  switch (client) {
    case 'chat': {
      const calls: Json[] = turn.tool_calls ?? [];
      if (calls.length === 0 && !turn.content) return undefined;
      const results = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'done' }));
      const names = calls.map((call) => call.function.name);
      const next = results.length > 0 ? results : [{ role: 'user', content: 'Go on.' }];
      return {
        messages: [{ role: 'user', content: 'Begin.' }, turn, ...next],
        ...(names.length > 0 && { tools: distinct(names).map((name) => ({ type: 'function', function: { name } })) }),
      };
    }
    case 'messages': {
      const uses: Json[] = turn.content.filter(({ type }: Json) => type === 'tool_use');
      if (turn.content.length === 0) return undefined;
      const results = uses.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'done' }));
      const tools = distinct(uses.map(({ name }) => name)).map((name) => ({ name, input_schema: { type: 'object' } }));
      return {
        max_tokens: 20_000,
        messages: [
          { role: 'user', content: 'Begin.' },
          turn,
          { role: 'user', content: results.length > 0 ? results : 'Go on.' },
        ],
        ...(tools.length > 0 && { tools }),
      };
    }
    case 'generate': {
      if (turn.parts.length === 0) return undefined;
      const calls: Json[] = turn.parts.flatMap(({ functionCall }: Json) => functionCall ?? []);
      const results = calls.map(({ id, name }) => ({ functionResponse: { id, name, response: { output: 'done' } } }));
      const functionDeclarations = distinct(calls.map(({ name }) => name)).map((name) => ({ name }));
      return {
        contents: [
          { role: 'user', parts: [{ text: 'Begin.' }] },
          turn,
          { role: 'user', parts: results.length > 0 ? results : [{ text: 'Go on.' }] },
        ],
        ...(calls.length > 0 && { tools: [{ functionDeclarations }] }),
      };
    }
    case 'responses': {
      if (turn.length === 0) return undefined;
      const calls: Json[] = turn.filter(({ type }: Json) => type === 'function_call');
      const results = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'done' }));
      const tools = distinct(calls.map(({ name }) => name)).map((name) => ({ type: 'function', name }));
      return {
        input: [
          { role: 'user', content: 'Begin.' },
          ...turn,
          ...(results.length > 0 ? results : [{ role: 'user', content: 'Go on.' }]),
        ],
        ...(tools.length > 0 && { tools }),
      };
    }
  }
}

function distinct(names: string[]): string[] {
  return [...new Set(names)];
}

/** The assistant's turn in the request that an upstream got. */
export function turnSent(upstream: RecordedId, { messages, contents, input }: Json): Json {
  if (upstream === 'responses') return input;
  const turns: Json[] = upstream === 'generate' ? contents : messages;
  return turns.find(({ role }) => role === 'assistant' || role === 'model') ?? {};
}

function isLedTo({ type }: Json): boolean {
  return type === 'message' || type === 'function_call' || type === 'custom_tool_call';
}

/** What Google's own tools leave in an answer: they are refused where another protocol asks for them. */
const SERVER_PARTS = ['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'];

/** Everything opaque in a turn of an upstream's protocol, with what it hangs on. */
export function stateIn(upstream: RecordedId, turn: Json): string[] {
  switch (upstream) {
    case 'chat': {
      const details: Json[] = turn.reasoning_details ?? [];
      const signatures = (turn.tool_calls ?? []).map(
        ({ extra_content: extra }: Json) => extra?.google?.thought_signature,
      );
      return [...details.map(({ signature, data }) => signature || data), ...signatures].filter(Boolean);
    }
    case 'messages':
      return turn.content.flatMap(({ type, thinking, signature, data }: Json) => {
        if (type === 'redacted_thinking') return [`redacted ${data}`];
        return type === 'thinking' ? [`thinking ${thinking} ${signature}`] : [];
      });
    case 'converse':
      return turn.content.flatMap(({ reasoningContent: { reasoningText, redactedContent } = {} }: Json) => {
        if (redactedContent) return [`redacted ${redactedContent}`];
        return reasoningText?.signature ? [`thinking ${reasoningText.text} ${reasoningText.signature}`] : [];
      });
    case 'generate':
      return (turn.parts ?? []).flatMap((part: Json) => {
        const isServers = SERVER_PARTS.some((name) => part[name]);
        if (!part.thoughtSignature || isServers) return [];
        const { functionCall, thought } = part;
        return [
          `${functionCall ? `call ${functionCall.name}` : thought ? 'thought' : 'text'} ${part.thoughtSignature}`,
        ];
      });
    case 'responses':
      // Reasoning that led to nothing is refused there.
      return turn
        .slice(0, turn.findLastIndex(isLedTo))
        .flatMap(({ type, id, summary = [], encrypted_content: sealed }: Json) => {
          const text = summary.map((part: Json) => part.text).join('\n\n');
          return type === 'reasoning' && sealed ? [`${id} ${text} ${sealed}`] : [];
        });
  }
}
