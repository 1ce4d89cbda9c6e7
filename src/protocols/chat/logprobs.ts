/** Log probabilities of tokens from upstreams of chat completions. */

import type { TokenLogprob } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';

export function decodeLogprobs(logprobs: Json): TokenLogprob[] | undefined {
  const tokens: Json[] = logprobs?.content ?? [];
  if (tokens.length === 0) return undefined;
  return tokens.map(({ token, logprob = 0, bytes, top_logprobs }) => ({
    token,
    logprob,
    ...(bytes !== undefined && { bytes }),
    ...(top_logprobs?.length && {
      top: top_logprobs.map((other: Json) => ({
        token: other.token,
        logprob: other.logprob ?? 0,
        ...(other.bytes !== undefined && { bytes: other.bytes }),
      })),
    }),
  }));
}
