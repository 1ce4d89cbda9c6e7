/** Expected usage: estimated maximum usage of a call before it is sent. */

import type { ChatRequest, MediaPart, Part } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';
import { withStandIns } from '../../core/json/long-text.ts';
import type { ProviderTools } from '../../core/output.ts';
import type { Protocol } from '../../core/protocol.ts';
import { protocols } from '../../protocols/index.ts';
import type { RoutingDecision } from '../../routing/decision.ts';
import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import { lacks, MEDIA_MEMBER } from '../sought-names.ts';
import { estimateTokens, isUnseen, tokensOfMedia } from './estimate.ts';

export interface ExpectedUsage {
  /** Tokens, estimated. */
  input: number;
  /** Audio and image tokens within the input. */
  audioInput: number;
  imageInput: number;
  /** The response may contain audio. */
  mayOutputAudio: boolean;
  /** Number of web searches, which are charged individually, where the request does not limit them. */
  searches: number;
  /** Images within the input, each of which may have more tokens than the estimate says. */
  images: number;
  /** The request has input whose tokens only the upstream knows, such as a PDF or a file by its id: it may be as long as the context. */
  hidesInput: boolean;
  /** Such input may be sound. */
  hidesAudio: boolean;
  /** Tools of the provider that are billed apart. */
  tools?: ProviderTools;
}

/** Estimated bytes per token, for bodies that the hub cannot represent. */
const BYTES_PER_TOKEN = 4;
/** Assumed tokens of input that the upstream stores, such as a prompt template or a cached context. */
const HIDDEN_TOKENS = 5_000;
/** Searches of the web, or of stored files, that are assumed in one answer, where nothing limits them. */
export const DEFAULT_SEARCHES = 5;

/** Texts of a body with media, whose length says little about its tokens. */
const MEDIA_MARKS = ['base64', 'inlineData', 'inline_data'];

/** Bytes in which they are searched, so that a large body takes no longer: a long text with media behind it counts by its length. */
const MAX_SEARCHED_BYTES = 256 * 1024;

/** Input tokens by the length of a body. */
export function tokensOfLength(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** Expected usage of a request for text that consists of text. */
export function textUsage(input: number): ExpectedUsage {
  return {
    input,
    audioInput: 0,
    imageInput: 0,
    mayOutputAudio: false,
    searches: 0,
    images: 0,
    hidesInput: false,
    hidesAudio: false,
  };
}

/** Input tokens by the length of the body, without reading it; undefined where that would say little. */
export function inputByLength(call: Pick<InferenceCall, 'bytes' | 'scanned'>): number | undefined {
  const { bytes } = call;
  const mayHoldMedia = (searched: Buffer) => MEDIA_MARKS.some((mark) => searched.includes(mark));
  if (!lacks(call, MEDIA_MEMBER) && mayHoldMedia(bytes.subarray(0, MAX_SEARCHED_BYTES))) return undefined;
  return tokensOfLength(bytes.length);
}

/** Expected usage of a request, without the options for providers. */
export function expectedUsageOf({ protocol, body, bytes }: InferenceCall): ExpectedUsage {
  return usageOf(protocol, body, () => bytes.length);
}

/** Expected usage of a request, with the most that the options for one of the providers add to the body. */
export function expectedUsageWithOptions(
  call: InferenceCall,
  { candidates }: Pick<RoutingDecision, 'candidates'>,
): ExpectedUsage {
  const own = expectedUsageOf(call);
  // Endpoints of one provider share its options, and may have different protocols.
  const seen = new Map<Json, Set<string>>();
  const added = candidates.flatMap(({ endpoint: { options, dialect } }) => {
    if (!options) return [];
    const known = seen.get(options) ?? new Set();
    if (known.has(dialect.protocol)) return [];
    seen.set(options, known.add(dialect.protocol));
    return [usageOfOptions(dialect.protocol, options)];
  });
  if (added.length === 0) return own;
  const most = (name: 'input' | 'audioInput' | 'imageInput' | 'searches' | 'images') =>
    Math.max(...added.map((usage) => usage[name]));
  return {
    input: own.input + most('input'),
    audioInput: own.audioInput + most('audioInput'),
    imageInput: own.imageInput + most('imageInput'),
    mayOutputAudio: own.mayOutputAudio || added.some(({ mayOutputAudio }) => mayOutputAudio),
    searches: Math.max(own.searches, most('searches')),
    images: own.images + most('images'),
    hidesInput: own.hidesInput || added.some(({ hidesInput }) => hidesInput),
    hidesAudio: own.hidesAudio || added.some(({ hidesAudio }) => hidesAudio),
    tools: added.reduce((sum, { tools }) => joinTools(sum, tools), own.tools ?? NO_TOOLS),
  };
}

/**
 * Estimated input tokens of a call at an endpoint; see `estimateTokens` for the error. A request that would be relayed is
 * counted by its length where the hub cannot represent it; throws for one that could not be translated.
 */
export function countByEstimate(call: InferenceCall, { dialect }: Pick<Endpoint, 'dialect'>): number {
  if (dialect.protocol === call.protocol.id) return expectedUsageOf(call).input;
  call.operation.check(call.body);
  return estimateTokens(call.protocol.operations.complete.decodeRequest(call.body));
}

/** Usage that options for the provider add, measured in a small body of their protocol; by their length in one that no client speaks. */
function usageOfOptions(id: string, options: Json): ExpectedUsage {
  const length = () => Buffer.byteLength(JSON.stringify(options));
  const protocol = protocols.find((one) => one.id === id);
  if (!protocol) return textUsage(tokensOfLength(length()));
  const { example } = protocol.operations.complete;
  const usage = usageOf(protocol, { ...example, ...options }, length);
  return { ...usage, input: Math.max(0, usage.input - usageOf(protocol, example, length).input) };
}

/** `length` is that of the body in bytes. */
function usageOf({ operations }: Protocol, body: Json, length: () => number): ExpectedUsage {
  let request: ChatRequest;
  const tools = operations.complete.providerTools?.(body) ?? NO_TOOLS;
  let hidesInput = operations.complete.hidesInput?.(body) ?? false;
  try {
    request = operations.complete.decodeRequest(body);
  } catch {
    hidesInput ||= withStandIns(
      () => '',
      () => hasUnseenInput(body),
    );
    const input = tokensOfLength(length()) + (hidesInput ? HIDDEN_TOKENS : 0);
    const unknown = { mayOutputAudio: true, searches: DEFAULT_SEARCHES, hidesInput, hidesAudio: hidesInput };
    return { ...textUsage(input), ...unknown, tools };
  }
  const media = request.turns.flatMap(({ parts }) => parts.flatMap(mediaIn));
  return {
    input: estimateTokens(request) + (hidesInput ? HIDDEN_TOKENS : 0),
    audioInput: tokensOf(media, 'audio'),
    imageInput: tokensOf(media, 'image'),
    mayOutputAudio: request.modalities?.includes('audio') ?? false,
    searches: request.webSearch ? DEFAULT_SEARCHES : 0,
    images: media.filter(({ kind }) => kind === 'image').length,
    hidesInput: hidesInput || media.some(isUnseen),
    hidesAudio: media.some((part) => part.kind === 'audio' && isUnseen(part)),
    tools,
  };
}

const NO_TOOLS: ProviderTools = {};

function joinTools(one: ProviderTools, other: ProviderTools = NO_TOOLS): ProviderTools {
  return {
    images: one.images || other.images || false,
    files: one.files || other.files || false,
    maps: one.maps || other.maps || false,
    containers: Math.max(one.containers ?? 0, other.containers ?? 0),
  };
}

/** Members with the id or the address of a file, or with its data, in any protocol. */
const FILE_NAMES = new Set(['file_id', 'file_url', 'fileUri', 'file_uri', 'file_data', 'data']);

/** Whether a body that the hub cannot represent has files or media, or names documents or items that only the upstream has. */
function hasUnseenInput(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (value.type === 'item_reference' || (value.type === 'document' && value.source?.type === 'url')) return true;
  for (const name in value) {
    const inner = value[name];
    if (typeof inner === 'string' ? FILE_NAMES.has(name) : hasUnseenInput(inner)) return true;
  }
  return false;
}

function mediaIn(part: Part): MediaPart[] {
  if (part.type === 'result') return part.parts.flatMap(mediaIn);
  return part.type === 'media' ? [part] : [];
}

function tokensOf(media: readonly MediaPart[], kind: MediaPart['kind']): number {
  return Math.ceil(media.filter((part) => part.kind === kind).reduce((sum, part) => sum + tokensOfMedia(part), 0));
}
