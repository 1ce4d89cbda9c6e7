/** The grammar of a generateContent stream as the gateway writes it, in events or as one JSON array. */

import assert from 'node:assert/strict';
import type { Json } from '../../src/core/json/json.ts';
import { assertCount, assertKeys, assertObject, blocksOf, type CheckedStream, objectOf } from './frames.ts';

export interface GenerateStreamOptions {
  /** The text is one JSON array, as without `alt=sse`. */
  array?: boolean;
  /** The last chunk must hold token counts, as it does unless the upstream gave none. */
  usage?: boolean;
}

const CHUNK = ['candidates', 'promptFeedback', 'usageMetadata', 'modelVersion', 'responseId'];
const CANDIDATE = [
  ...['content', 'index', 'finishReason', 'finishMessage', 'citationMetadata', 'groundingMetadata'],
  ...['urlContextMetadata', 'safetyRatings', 'avgLogprobs', 'logprobsResult', 'tokenCount'],
];
const PART_KINDS = ['text', 'inlineData', 'fileData', 'functionCall', 'executableCode', 'codeExecutionResult'];
const FINISHES = [
  ...['STOP', 'MAX_TOKENS', 'SAFETY', 'RECITATION', 'LANGUAGE', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'OTHER'],
  ...['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS', 'MALFORMED_RESPONSE'],
  ...['IMAGE_SAFETY', 'IMAGE_PROHIBITED_CONTENT', 'NO_IMAGE', 'IMAGE_RECITATION', 'IMAGE_OTHER'],
];
const SUMMANDS = ['promptTokenCount', 'candidatesTokenCount', 'toolUsePromptTokenCount', 'thoughtsTokenCount'];

/** Throws an assertion error for the first thing that breaks the grammar. */
export function checkGenerateStream(text: string, options: GenerateStreamOptions = {}): CheckedStream {
  const data = options.array ? arrayOf(text) : eventsOf(text);
  const last = data.at(-1) ?? assert.fail('the stream has no chunk');
  const failed = last.error !== undefined;
  const finished = new Map<number, string | undefined>();
  let total = 0;
  for (const [position, chunk] of data.entries()) {
    if (failed && position === data.length - 1) {
      assertErrorChunk(chunk);
      return { ending: 'error', data };
    }
    assertChunk(chunk, position === 0);
    for (const candidate of chunk.candidates ?? []) {
      assert.equal(finished.get(candidate.index), undefined, 'a candidate goes on after its finishReason');
      finished.set(candidate.index, candidate.finishReason);
    }
    if (!chunk.usageMetadata) continue;
    assert.ok(chunk.usageMetadata.totalTokenCount >= total, 'the token counts are not cumulative');
    total = chunk.usageMetadata.totalTokenCount;
  }
  if (!last.promptFeedback) {
    for (const [index, reason] of finished) assert.ok(reason, `candidate ${index} has no finishReason`);
    assert.ok(
      last.candidates.some((candidate: Json) => candidate.finishReason),
      'the last chunk finishes nothing',
    );
  }
  if (options.usage) assertObject(last.usageMetadata, 'usageMetadata of the last chunk');
  return { ending: 'complete', data };
}

/** Clients that skip errors notice a comment that is cut off. */
const AFTER_ERROR = /(data: \{"error":.*\r\n\r\n): incomplete$/;

/** The official client takes a block for data only if it begins with `data:`, and fails on anything like `[DONE]`. */
function eventsOf(text: string): Json[] {
  const blocks = blocksOf(text.replace(AFTER_ERROR, '$1')).filter(({ data }) => data !== undefined);
  for (const { event } of blocks) assert.equal(event, undefined, 'an event has a name');
  return blocks.map(({ data }) => objectOf(data ?? ''));
}

function arrayOf(text: string): Json[] {
  const list: Json = JSON.parse(text);
  assert.ok(Array.isArray(list), 'the answer is not an array');
  return list;
}

/** Holds for a whole response too, which is a single chunk that is the first. */
export function assertChunk(chunk: Json, first: boolean): void {
  assertKeys(chunk, CHUNK, 'a chunk');
  assert.equal(typeof chunk.modelVersion, 'string');
  if (chunk.usageMetadata !== undefined) assertCounts(chunk.usageMetadata);
  if (chunk.promptFeedback) {
    assert.ok(first, 'promptFeedback comes late');
    assert.equal(chunk.candidates, undefined, 'candidates beside promptFeedback');
    assert.equal(typeof chunk.promptFeedback.blockReason, 'string');
    return;
  }
  assert.ok(Array.isArray(chunk.candidates) && chunk.candidates.length > 0, 'a chunk without candidates');
  for (const candidate of chunk.candidates) checkCandidate(candidate);
}

function checkCandidate(candidate: Json): void {
  assertKeys(candidate, CANDIDATE, 'a candidate');
  assertCount(candidate.index, 'index of a candidate');
  assert.equal(candidate.content?.role, 'model');
  assert.ok(Array.isArray(candidate.content.parts) && candidate.content.parts.length > 0, 'a content without parts');
  for (const part of candidate.content.parts) checkPart(part);
  if (candidate.finishReason === undefined) return;
  assert.ok(FINISHES.includes(candidate.finishReason), `unknown finishReason ${candidate.finishReason}`);
}

function checkPart(part: Json): void {
  assertKeys(part, [...PART_KINDS, 'thought', 'thoughtSignature', 'partMetadata'], 'a part');
  assert.equal(PART_KINDS.filter((kind) => part[kind] !== undefined).length, 1, 'a part is of one kind');
  if (part.text !== undefined) assert.equal(typeof part.text, 'string');
  if (part.thought !== undefined) assert.equal(part.thought, true);
  if (part.thoughtSignature !== undefined) assertBase64(part.thoughtSignature);
  const { functionCall: call } = part;
  if (!call) return;
  assertKeys(call, ['id', 'name', 'args'], 'functionCall');
  assert.ok(typeof call.id === 'string' && call.id !== '', 'a call without id');
  assert.equal(typeof call.name, 'string');
  assertObject(call.args, 'args of a call');
}

export function assertBase64(text: unknown): void {
  assert.ok(typeof text === 'string' && text !== '' && /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0);
}

export function assertCounts(usage: Json): void {
  for (const name of SUMMANDS) if (usage[name] !== undefined) assertCount(usage[name], name);
  const sum = SUMMANDS.reduce((total, name) => total + (usage[name] ?? 0), 0);
  assert.equal(usage.totalTokenCount, sum, 'totalTokenCount is not the sum');
}

function assertErrorChunk(chunk: Json): void {
  assertKeys(chunk, ['error'], 'the last chunk of a broken stream');
  const { code, message, status } = chunk.error;
  assert.ok(Number.isInteger(code) && code >= 400 && code <= 599, `the code of an error is ${code}`);
  assert.deepEqual([typeof message, typeof status], ['string', 'string']);
}
