/** Log probabilities of tokens, in both directions. */

import type { TokenLogprob } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';

export function decodeLogprobs(result: Json): TokenLogprob[] | undefined {
  const chosen: Json[] = result?.chosenCandidates ?? [];
  if (chosen.length === 0) return undefined;
  return chosen.map((candidate, index) => {
    const top: Json[] = result.topCandidates?.[index]?.candidates ?? [];
    return { ...decodeToken(candidate), ...(top.length > 0 && { top: top.map(decodeToken) }) };
  });
}

function decodeToken({ token, logProbability }: Json): TokenLogprob {
  return { token: token ?? '', logprob: logProbability ?? 0, bytes: [...Buffer.from(token ?? '')] };
}

export function encodeLogprobs(tokens: TokenLogprob[]): Json {
  const topCandidates = tokens.map(({ top }) => ({ candidates: (top ?? []).map(encodeToken) }));
  const hasTop = topCandidates.some(({ candidates }) => candidates.length > 0);
  return { chosenCandidates: tokens.map(encodeToken), ...(hasTop && { topCandidates }) };
}

function encodeToken({ token, logprob }: TokenLogprob): Json {
  return { token, logProbability: logprob };
}
