/** Trial of a connection: the smallest request of the program's protocol, sent with the same key to the same address. */

import { type Clock, startTimeout } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { unreachedReason } from '../unreached.ts';

export type TrialProtocol = 'chat' | 'messages' | 'generate' | 'responses';

export interface AgentConnection {
  /** Base URL of the gateway, without a slash at its end. */
  url: string;
  key: string;
  model: string;
  /** Model for small requests in the background. */
  smallModel: string;
}

interface TrialRequest {
  path: string;
  headers: Record<string, string>;
  body: Json;
}

const TIMEOUT_MS = 120_000;
const MAX_TOKENS = 64;
const PROMPT = 'Say OK.';
const MESSAGES = [{ role: 'user', content: PROMPT }];

const REQUESTS: Record<TrialProtocol, (connection: AgentConnection) => TrialRequest> = {
  chat: ({ key, model }) => ({
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${key}` },
    body: { model, messages: MESSAGES, max_completion_tokens: MAX_TOKENS },
  }),
  messages: ({ key, model }) => ({
    path: '/anthropic/v1/messages',
    headers: { authorization: `Bearer ${key}`, 'anthropic-version': '2023-06-01' },
    body: { model, messages: MESSAGES, max_tokens: MAX_TOKENS },
  }),
  generate: ({ key, model }) => ({
    path: `/gemini/v1beta/models/${model}:generateContent`,
    headers: { 'x-goog-api-key': key },
    body: {
      contents: [{ role: 'user', parts: [{ text: PROMPT }] }],
      generationConfig: { maxOutputTokens: MAX_TOKENS },
    },
  }),
  responses: ({ key, model }) => ({
    path: '/v1/responses',
    headers: { authorization: `Bearer ${key}` },
    body: { model, input: PROMPT, max_output_tokens: MAX_TOKENS, store: false },
  }),
};

/** Resolves with the endpoint that answered. Throws `invalid_request` with the reason if there is no answer. */
export async function tryConnection(
  protocol: TrialProtocol,
  connection: AgentConnection,
  clock: Pick<Clock, 'after'>,
): Promise<string> {
  const { path, headers, body } = REQUESTS[protocol](connection);
  const timeout = startTimeout(clock, TIMEOUT_MS);
  try {
    const response = await fetch(`${connection.url}${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: timeout.signal,
    });
    const text = await response.text();
    if (response.ok) return response.headers.get('x-polygate-endpoint') ?? connection.model;
    throw failed(`the gateway answered with ${response.status}: ${messageIn(text)}`);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw failed(`there is no gateway at ${connection.url} (${unreachedReason(error)}); --url names another address.`);
  } finally {
    timeout.cancel();
  }
}

function failed(reason: string): GatewayError {
  return new GatewayError('invalid_request', `Nothing was written: ${reason}`);
}

/** The message of an error in any of the protocols. */
function messageIn(text: string): string {
  try {
    return String(JSON.parse(text).error.message);
  } catch {
    return text.slice(0, 200) || 'no reason';
  }
}
