/** What a call will use at most, as far as can be told before it is sent. */

import type { ChatRequest, MediaPart, Part } from '../../core/chat.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import { estimateTokens, tokensOfMedia } from './estimate.ts';

export interface ExpectedUsage {
  /** Tokens, estimated. */
  input: number;
  /** The share of the input that is sound, and that is pictures. */
  audioInput: number;
  imageInput: number;
  /** The answer may be sound. */
  speaks: boolean;
  /** Searches in the web that are paid for one by one. */
  searches: number;
}

/** For bodies that the hub cannot hold. */
const BYTES_PER_TOKEN = 4;
/** A model that may search rarely does so more often in one answer. */
const SEARCHES = 5;

export function expectedUsageOf({ protocol, body, bytes }: InferenceCall): ExpectedUsage {
  let request: ChatRequest;
  try {
    request = protocol.operations.complete.decodeRequest(body);
  } catch {
    const input = Math.ceil(bytes.length / BYTES_PER_TOKEN);
    return { input, audioInput: 0, imageInput: 0, speaks: true, searches: SEARCHES };
  }
  const media = request.turns.flatMap(({ parts }) => parts.flatMap(mediaIn));
  return {
    input: estimateTokens(request),
    audioInput: tokensOf(media, 'audio'),
    imageInput: tokensOf(media, 'image'),
    speaks: request.modalities?.includes('audio') ?? false,
    searches: request.webSearch ? SEARCHES : 0,
  };
}

function mediaIn(part: Part): MediaPart[] {
  if (part.type === 'result') return part.parts.flatMap(mediaIn);
  return part.type === 'media' ? [part] : [];
}

function tokensOf(media: readonly MediaPart[], kind: MediaPart['kind']): number {
  return Math.ceil(media.filter((part) => part.kind === kind).reduce((sum, part) => sum + tokensOfMedia(part), 0));
}
