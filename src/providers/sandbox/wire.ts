/** Encoder of sandbox answers and errors as chat completions, whole and streamed. */

import type { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import type { Piece, SandboxAnswer } from './answer.ts';
import type { SandboxRequest } from './request.ts';

/** A whole response. `created` is in Unix seconds. */
export function encodeWhole(answer: SandboxAnswer, request: SandboxRequest, created: number): Json {
  const choices = Array.from({ length: request.count }, (_, index) => ({
    index,
    message: encodeMessage(answer, request, index),
    logprobs: encodeLogprobs(answer.pieces, request),
    finish_reason: answer.finish,
  }));
  const { id, model } = request;
  return { id: `chatcmpl-${id}`, object: 'chat.completion', created, model, choices, usage: usageOf(answer, request) };
}

function encodeMessage({ pieces }: SandboxAnswer, request: SandboxRequest, choice: number): Json {
  const reasoning = joined(pieces, 'reasoning');
  const content = joined(pieces, 'text');
  const calls = pieces.filter((piece) => piece.type === 'call');
  return {
    role: 'assistant',
    content: calls.length > 0 && content === '' ? null : content,
    refusal: null,
    ...(request.showReasoning && reasoning !== '' && { reasoning, reasoning_content: reasoning }),
    ...(calls.length > 0 && {
      tool_calls: calls.map((call) => encodeCall(call, pieces, callId(request, choice, call))),
    }),
  };
}

function joined(pieces: Piece[], type: 'reasoning' | 'text'): string {
  return pieces.map((piece) => (piece.type === type ? piece.text : '')).join('');
}

function encodeCall({ call, name, custom }: Extract<Piece, { type: 'call' }>, pieces: Piece[], id: string): Json {
  const input = pieces.map((piece) => (piece.type === 'arguments' && piece.call === call ? piece.text : '')).join('');
  return custom
    ? { id, type: 'custom', custom: { name, input } }
    : { id, type: 'function', function: { name, arguments: input } };
}

/** The frames of a stream, ending with `[DONE]`. Several choices alternate by token. */
export function* encodeFrames(answer: SandboxAnswer, request: SandboxRequest, created: number): Generator<string> {
  const { id, model, count, includeUsage } = request;
  const envelope = { id: `chatcmpl-${id}`, object: 'chat.completion.chunk', created, model };

  function* turn(delta: (choice: number) => Json, rest: Json = {}): Generator<string> {
    for (let index = 0; index < count; index++) {
      const choice = { index, delta: delta(index), finish_reason: null, ...rest };
      yield frame({ ...envelope, choices: [choice] });
    }
  }

  const silent = answer.pieces.some((piece) => piece.type === 'call');
  yield* turn(() => ({ role: 'assistant', content: silent ? null : '' }));
  for (const piece of answer.pieces) {
    if (piece.type === 'reasoning' && !request.showReasoning) continue;
    const logprobs = encodeLogprobs([piece], request);
    yield* turn((choice) => encodeDelta(piece, request, choice), logprobs ? { logprobs } : {});
  }
  yield* turn(() => ({}), { finish_reason: answer.finish });
  if (includeUsage) yield frame({ ...envelope, choices: [], usage: usageOf(answer, request) });
  yield 'data: [DONE]\n\n';
}

function encodeDelta(piece: Piece, request: SandboxRequest, choice: number): Json {
  switch (piece.type) {
    case 'text':
      return { content: piece.text };
    case 'reasoning':
      return { reasoning: piece.text, reasoning_content: piece.text };
    case 'call': {
      const start = { index: piece.call, ...encodeCall(piece, [], callId(request, choice, piece)) };
      return { tool_calls: [start] };
    }
    case 'arguments': {
      const more = piece.custom ? { custom: { input: piece.text } } : { function: { arguments: piece.text } };
      return { tool_calls: [{ index: piece.call, ...more }] };
    }
  }
}

function callId(request: SandboxRequest, choice: number, { call }: { call: number }): string {
  return `call_${request.id}_${choice}_${call}`;
}

/** Every token has the log probability 0 and only itself as an alternative. */
function encodeLogprobs(pieces: Piece[], { logprobs }: SandboxRequest): Json {
  if (logprobs === undefined) return null;
  const content = pieces.flatMap((piece) => {
    if (piece.type !== 'text') return [];
    const certain = { token: piece.text, logprob: 0, bytes: [...Buffer.from(piece.text)] };
    return [{ ...certain, top_logprobs: logprobs > 0 ? [certain] : [] }];
  });
  return content.length > 0 ? { content, refusal: null } : null;
}

function usageOf({ pieces }: SandboxAnswer, { promptTokens, count }: SandboxRequest): Json {
  const reasoning = pieces.filter((piece) => piece.type === 'reasoning').length;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: pieces.length * count,
    total_tokens: promptTokens + pieces.length * count,
    completion_tokens_details: { reasoning_tokens: reasoning * count },
  };
}

export function encodeError(error: GatewayError): Json {
  return errorBody(error.status, error.message, { code: error.code, param: error.param });
}

/** The body of an error with any status. */
export function errorBody(status: number, message: string, details: { code?: string; param?: string } = {}): Json {
  const { code = ERROR_CODES[status] ?? null, param = null } = details;
  return { error: { message, type: errorType(status), code, param } };
}

function errorType(status: number): string {
  if (status === 429) return 'rate_limit_error';
  if (status === 503) return 'service_unavailable_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

const ERROR_CODES: Record<number, string> = {
  401: 'invalid_api_key',
  402: 'insufficient_quota',
  404: 'model_not_found',
  429: 'rate_limit_exceeded',
  503: 'server_is_overloaded',
};

export function frame(value: Json): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
