/** Token usage: Gemini counts thoughts separately from the answer, and tool input separately from the prompt. */

import type { Usage } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';
import { lookUp } from '../../core/plain-objects.ts';
import { counts as countsShape } from './response-shape.ts';

/** Tiers of other protocols that have another name here. */
const TIERS: Partial<Record<string, string>> = { default: 'standard', fast: 'priority' };

/** Tiers by the kind of traffic that Vertex AI names instead. */
const TRAFFIC: Record<string, string> = {
  ON_DEMAND: 'standard',
  ON_DEMAND_PRIORITY: 'priority',
  ON_DEMAND_FLEX: 'flex',
  ON_DEMAND_OFFPEAK: 'offpeak',
  PROVISIONED_THROUGHPUT: 'provisioned',
};

/** Undefined for metadata without counts, as in the first chunks of some streams. */
export function decodeUsage(given: Json): Usage | undefined {
  const metadata = countsShape(given);
  if (!metadata) return undefined;
  const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount, toolUsePromptTokenCount } = metadata;
  const counts = [promptTokenCount, candidatesTokenCount, thoughtsTokenCount, toolUsePromptTokenCount];
  if (counts.every((count) => count === undefined || count === null)) return undefined;
  const [prompt = 0, candidates = 0, thoughts = 0, toolUse = 0] = counts.map((count): number => count ?? 0);
  const usage: Usage = { input: prompt + toolUse, output: candidates + thoughts };
  if (metadata.cachedContentTokenCount) usage.cached = metadata.cachedContentTokenCount;
  if (thoughts > 0) usage.reasoning = thoughts;
  if (toolUse > 0) usage.toolInput = toolUse;
  const inputDetails: Json[] = [
    ...(metadata.promptTokensDetails ?? []),
    ...((toolUse > 0 && metadata.toolUsePromptTokensDetails) || []),
  ];
  const audioInput = ofModality(inputDetails, 'AUDIO');
  const imageInput = ofModality(inputDetails, 'IMAGE');
  const cachedAudio = ofModality(metadata.cacheTokensDetails, 'AUDIO');
  const cachedImage = ofModality(metadata.cacheTokensDetails, 'IMAGE');
  const audioOutput = ofModality(metadata.candidatesTokensDetails, 'AUDIO');
  const imageOutput = ofModality(metadata.candidatesTokensDetails, 'IMAGE');
  if (audioInput) usage.audioInput = audioInput;
  if (imageInput) usage.imageInput = imageInput;
  if (cachedAudio) usage.cachedAudio = cachedAudio;
  if (cachedImage) usage.cachedImage = cachedImage;
  if (audioOutput) usage.audioOutput = audioOutput;
  if (imageOutput) usage.imageOutput = imageOutput;
  const tier = metadata.serviceTier || lookUp(TRAFFIC, metadata.trafficType);
  if (tier) usage.tier = tier;
  return usage;
}

/** Usage in a body or chunk, with the tools of Google that the model used: this wire has them beside the answer. */
export function usageOf(body: Json): Partial<Usage> | undefined {
  const usage = decodeUsage(body?.usageMetadata);
  let searches = 0;
  let mapRequests = 0;
  for (const candidate of Array.isArray(body?.candidates) ? body.candidates : []) {
    const grounding = candidate?.groundingMetadata;
    if (hasSource(grounding, 'maps')) mapRequests = 1;
    // Candidates share their searches.
    if (isSearched(grounding)) searches = Math.max(searches, queriesIn(grounding));
  }
  if (searches + mapRequests === 0) return usage;
  return { ...usage, ...(searches > 0 && { searches }), ...(mapRequests > 0 && { mapRequests }) };
}

/** Whether queries are those of a search: places of Google Maps alone come with queries, too, which are none. */
export function isSearched(grounding: Json): boolean {
  if (!hasSource(grounding, 'maps') || grounding.searchEntryPoint) return true;
  return hasSource(grounding, 'web') || hasSource(grounding, 'image');
}

function hasSource(grounding: Json, kind: string): boolean {
  const chunks = grounding?.groundingChunks;
  return Array.isArray(chunks) && chunks.some((chunk) => chunk?.[kind]);
}

/** Queries for pages and for images, each of which is a search. */
function queriesIn(grounding: Json): number {
  const lists = [grounding?.webSearchQueries, grounding?.imageSearchQueries];
  return lists.reduce((sum, queries) => sum + (Array.isArray(queries) ? queries.length : 0), 0);
}

function ofModality(details: Json[] | undefined, modality: string): number {
  const counted = (details ?? []).filter((detail) => detail.modality === modality);
  return counted.reduce((total, detail) => total + (detail.tokenCount ?? 0), 0);
}

export function encodeUsage(usage: Usage): Json {
  const { input, output, cached, reasoning = 0, toolInput = 0 } = usage;
  return {
    promptTokenCount: input - toolInput,
    ...(cached && { cachedContentTokenCount: cached }),
    candidatesTokenCount: Math.max(0, output - reasoning),
    ...details('promptTokensDetails', { AUDIO: usage.audioInput, IMAGE: usage.imageInput }),
    ...details('cacheTokensDetails', { AUDIO: usage.cachedAudio, IMAGE: usage.cachedImage }),
    ...details('candidatesTokensDetails', { AUDIO: usage.audioOutput, IMAGE: usage.imageOutput }),
    ...(toolInput > 0 && { toolUsePromptTokenCount: toolInput }),
    ...(reasoning > 0 && { thoughtsTokenCount: Math.min(reasoning, output) }),
    totalTokenCount: input + output,
    ...(usage.tier && { serviceTier: TIERS[usage.tier] ?? usage.tier }),
    ...(usage.estimated && { estimated: true }),
  };
}

/** Only the modalities that occur, as the protocol's own responses have it. */
function details(name: string, counts: Record<string, number | undefined>): Json {
  const known = Object.entries(counts).filter(([, tokenCount]) => tokenCount);
  return known.length > 0 ? { [name]: known.map(([modality, tokenCount]) => ({ modality, tokenCount })) } : {};
}
