/** Generated answers of upstreams that speak generateContent, and the streams that say the same. */

import fc from 'fast-check';
import type { Json } from '../../../src/core/json/json.ts';
import {
  CUT_CALL,
  type Cut,
  count,
  cutterOf,
  input,
  interleaved,
  lengths,
  name,
  PICTURE,
  sometimes,
  state,
  text,
  type UpstreamAnswer,
  url,
} from './drawing.ts';

const generatePart = fc.oneof(
  { weight: 4, arbitrary: fc.record({ text, signature: fc.option(state) }) },
  { weight: 2, arbitrary: fc.record({ text, thought: fc.constant(true), signature: fc.option(state) }) },
  {
    weight: 3,
    arbitrary: fc.record({ functionCall: fc.record({ name, args: input }), signature: fc.option(state) }),
  },
  { weight: 1, arbitrary: fc.constant({ inlineData: { mimeType: 'image/png', data: PICTURE } }) },
  { weight: 1, arbitrary: fc.constant({ executableCode: { language: 'PYTHON', code: '1 + 1' } }) },
  { weight: 1, arbitrary: fc.constant({ partOfTomorrow: { inner: [1] } }) },
);

const generateCandidate = fc
  .record({
    parts: fc.array(generatePart, { minLength: 1, maxLength: 5 }),
    finishReason: fc.constantFrom(
      ...['STOP', 'STOP', 'MAX_TOKENS', 'SAFETY', 'RECITATION', 'OTHER', 'MALFORMED_FUNCTION_CALL', 'TOMORROW'],
    ),
    sources: fc.array(url, { maxLength: 2 }),
    queries: fc.array(text, { maxLength: 2 }),
    logprobs: fc.array(fc.record({ token: text, logProbability: fc.constantFrom(-1, -0.5) }), { maxLength: 3 }),
    isCut: sometimes,
  })
  .map((drawn) => (drawn.isCut ? { ...drawn, finishReason: 'MAX_TOKENS' } : drawn));

const generateUsage = fc
  .record({ prompt: count, cached: count, output: count, thoughts: count, tools: count })
  .map(({ prompt, cached, output, thoughts, tools }) => ({
    ...{ promptTokenCount: prompt + cached + 1, cachedContentTokenCount: cached, toolUsePromptTokenCount: tools },
    ...{ candidatesTokenCount: output + 1, thoughtsTokenCount: thoughts },
    totalTokenCount: prompt + cached + tools + output + thoughts + 2,
  }));

export const generate = fc
  .record({
    candidates: fc.array(generateCandidate, { minLength: 1, maxLength: 3 }),
    usage: generateUsage,
    lengths,
  })
  .map(({ candidates, usage, lengths }): UpstreamAnswer => {
    const about = { modelVersion: 'm', responseId: 'r', createTime: '2026-01-01T00:00:00Z' };
    const made = candidates.map((candidate, index) => generateForms(candidate, index, cutterOf(lengths)));
    const chunks = interleaved(made.map(({ chunks }) => chunks));
    return {
      whole: { candidates: made.map(({ candidate }) => candidate), usageMetadata: usage, ...about },
      frames: chunks.map((candidate, at) => ({
        data: { candidates: [candidate], ...(at === chunks.length - 1 && { usageMetadata: usage }), ...about },
      })),
      isCut: candidates[0]?.isCut ?? false,
    };
  });

function generateForms(drawn: Json, index: number, cut: Cut): { candidate: Json; chunks: Json[] } {
  const { finishReason, sources, queries, logprobs, isCut } = drawn;
  const parts: Json[] = drawn.parts.map(({ signature, ...part }: Json, at: number) => ({
    ...part,
    ...(part.functionCall && { functionCall: { ...part.functionCall, id: `call_${index}_${at}` } }),
    ...(signature && { thoughtSignature: signature }),
  }));
  if (isCut) parts.push({ functionCall: { name: CUT_CALL, id: `call_${index}_cut`, willContinue: true } });
  const words = parts.filter((part) => part.text !== undefined && !part.thought).map((part) => part.text);
  const endIndex = Buffer.byteLength(words.join(''));
  const groundingMetadata = {
    groundingChunks: sources.map((uri: string) => ({ web: { uri, title: 'page' } })),
    groundingSupports: sources.map((_: string, at: number) => ({
      segment: { startIndex: 0, endIndex },
      groundingChunkIndices: [at],
    })),
    webSearchQueries: queries,
  };
  const endsInText = parts.at(-1)?.text !== undefined && !parts.at(-1).thought;
  const isGrounded = sources.length + queries.length > 0;
  const last = { index, finishReason, ...(isGrounded && { groundingMetadata }) };
  const tokens = words.length > 0 && logprobs.length > 0 && endsInText;
  const scored = tokens && { logprobsResult: { chosenCandidates: logprobs } };
  const pieces = parts.flatMap((part, at) => {
    // Of two signed texts the second comes whole: pieces without a signature would be the rest of the first.
    const before = parts.slice(0, at).findLast((one) => !one.partOfTomorrow);
    if (part.text === undefined || (part.thoughtSignature && isSameText(part, before))) return [part];
    const { thoughtSignature, ...bare } = part;
    const said = cut(part.text).map((piece) => ({ ...bare, text: piece }));
    return thoughtSignature ? [...said, { ...bare, text: '', thoughtSignature }] : said;
  });
  const content = (list: Json[]) => ({ content: { role: 'model', parts: list } });
  // A text that ended before its sources are told gets none of them in a stream.
  const lastWords = pieces.findLastIndex((part) => part.text !== undefined && !part.thought);
  const late = isGrounded && lastWords >= 0 ? pieces.splice(lastWords + 1) : [];
  return {
    candidate: { ...content(parts), ...last, ...scored },
    chunks: [
      ...pieces.map((part) => ({ index, ...content([part]) })),
      { ...content([...late, { text: '' }]), ...last, ...scored },
    ],
  };
}

function isSameText(one: Json, next: Json): boolean {
  return one.text !== undefined && next?.text !== undefined && one.thought === next.thought;
}
