/** What a call will use at most, as far as can be told before it is sent. */

import type { ChatRequest } from '../core/chat.ts';
import type { Call } from './call.ts';
import { estimateTokens } from './estimate.ts';

export interface Expectation {
  /** Tokens, estimated. */
  input: number;
  /** How many tokens the client asks for at most, all its candidates together; absent where it says nothing. */
  output?: number;
}

/** For bodies that the hub cannot hold. */
const BYTES_PER_TOKEN = 4;

export function expectationOf({ protocol, body, bytes }: Call): Expectation {
  let request: ChatRequest;
  try {
    request = protocol.decodeRequest(body);
  } catch {
    return { input: Math.ceil(bytes.length / BYTES_PER_TOKEN) };
  }
  const { maxTokens, candidates = 1 } = request;
  return { input: estimateTokens(request), ...(maxTokens !== undefined && { output: maxTokens * candidates }) };
}
