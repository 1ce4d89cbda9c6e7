/** Expected types of the members read from an upstream's response or chunk. */

import { below, count, either, flag, list, number, object, record, text } from '../../core/json/shape.ts';

/** Maximum number of candidates, above that of any request. */
const MAX_CANDIDATES = 128;

const piece = record({
  jsonPath: text,
  stringValue: text,
  numberValue: number,
  boolValue: flag,
  willContinue: flag,
});

const call = record({ id: text, name: text, args: object, partialArgs: list(piece), willContinue: flag });

const part = record({
  text,
  thought: flag,
  thoughtSignature: text,
  functionCall: call,
  inlineData: record({ mimeType: text, data: text, displayName: text }, 'data'),
  fileData: record({ fileUri: text, mimeType: text, displayName: text }, 'fileUri'),
});

const source = record({ uri: text, sourceUri: text, title: text, text });

const segment = { startIndex: count, endIndex: count, text };

const grounding = record({
  groundingChunks: list(record({ web: source, maps: source, image: source, retrievedContext: source })),
  groundingSupports: list(record({ segment: record(segment), groundingChunkIndices: list(count) })),
  webSearchQueries: list(text),
  imageSearchQueries: list(text),
});

const recitation = record({ ...segment, uri: text, title: text });

const token = record({ token: text, logProbability: number });

const candidate = record({
  index: below(MAX_CANDIDATES),
  content: record({ parts: list(part) }),
  finishReason: either(text, number),
  continuationToken: text,
  finishMessage: text,
  safetyRatings: list(record({ category: text, blocked: flag })),
  citationMetadata: record({ citations: list(recitation), citationSources: list(recitation) }),
  groundingMetadata: grounding,
  logprobsResult: record({
    chosenCandidates: list(token),
    topCandidates: list(record({ candidates: list(token) })),
  }),
});

export const responseShape = record({
  responseId: text,
  modelVersion: text,
  createTime: text,
  candidates: list(candidate),
  promptFeedback: record({ blockReason: either(text, number), blockReasonMessage: text }),
});

const details = list(record({ modality: text, tokenCount: count }));

export const counts = record({
  promptTokenCount: count,
  candidatesTokenCount: count,
  thoughtsTokenCount: count,
  toolUsePromptTokenCount: count,
  cachedContentTokenCount: count,
  promptTokensDetails: details,
  toolUsePromptTokensDetails: details,
  candidatesTokensDetails: details,
  cacheTokensDetails: details,
  serviceTier: text,
  trafficType: text,
});
