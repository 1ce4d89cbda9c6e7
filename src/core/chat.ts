/** The hub: the form of a conversation between decoding one protocol and encoding another. */

import type { GatewayError } from './errors.ts';
import type { Json } from './json/json.ts';
import type { Native, WebSearch } from './native.ts';
import type { ToolName } from './tool-name.ts';

/** A prompt-cache breakpoint after the part (or tool) that carries it. */
export interface CacheMark {
  ttl?: '5m' | '30m' | '1h' | '12h';
}

/** State of a provider that the client must return unmodified, such as a thinking signature. `origin` names its owner (see `core/opaque.ts`); it is never sent to another provider. */
export interface Opaque {
  kind: 'signature' | 'redacted' | 'encrypted';
  value: string;
  origin?: string;
}

/** Source of a piece of text. `start` and `end` are UTF-16 offsets into the text of the cited part. */
export interface Citation {
  url?: string;
  title?: string;
  citedText?: string;
  start?: number;
  end?: number;
  /** Index of the cited document or search result in the request. */
  source?: number;
  /** The citation in its original wire form, used when it is encoded to the same protocol again. */
  native?: Native;
}

export interface TokenLogprob {
  token: string;
  logprob: number;
  bytes?: number[] | null;
  top?: TokenLogprob[];
}

export interface TextPart {
  type: 'text';
  text: string;
  /** Whether a message of the assistant is said on the way or is the answer. A text of another phase is another message. */
  phase?: 'commentary' | 'final_answer';
  cache?: CacheMark;
  citations?: Citation[];
  logprobs?: TokenLogprob[];
  opaque?: Opaque;
}

/** The text of a refusal. Only in assistant turns. */
export interface RefusalPart {
  type: 'refusal';
  text: string;
}

/** An image, a document, audio or video. Exactly one of `data` (base64), `text`, `url` and `fileId` is set, `fileId` apart for audio replies. */
export interface MediaPart {
  type: 'media';
  kind: 'image' | 'document' | 'audio' | 'video';
  /** e.g. `image/png`; absent when only a URL is known. */
  mime?: string;
  data?: string;
  /** A plain-text document. */
  text?: string;
  url?: string;
  fileId?: string;
  detail?: 'auto' | 'low' | 'high' | 'original';
  title?: string;
  /** Notes on a document; the model sees but never cites them. */
  context?: string;
  /** Citations are requested (requests only). */
  cite?: boolean;
  /** Transcript of an audio reply. */
  transcript?: string;
  toolUse?: ToolUse;
  cache?: CacheMark;
  opaque?: Opaque;
}

export interface ReasoningPart {
  type: 'reasoning';
  /** Empty if the provider returns only opaque state. Several summaries of one reasoning are separated by blank lines. */
  text: string;
  /** Whether the text is a summary or the reasoning itself; absent if unknown. */
  form?: 'summary' | 'full';
  opaque?: Opaque;
}

/** A tool call. `args` stays JSON text so that numbers and key order survive; empty means `{}`. */
export interface CallPart extends ToolName {
  type: 'call';
  id: string;
  args: string;
  /** A call of a free-text tool: `args` is the plain input, not JSON. */
  custom?: boolean;
  cache?: CacheMark;
  opaque?: Opaque;
}

export interface ResultPart extends Partial<ToolName> {
  type: 'result';
  callId: string;
  parts: Part[];
  isError?: boolean;
  cache?: CacheMark;
}

export interface NativePart extends Native {
  type: 'native';
  /** Meaning of the part where the protocol of a client has searches of its own. */
  search?: WebSearch;
}

export type Part = TextPart | RefusalPart | MediaPart | ReasoningPart | CallPart | ResultPart | NativePart;

/** Results are parts of user turns; system turns may stand anywhere and hold text only. */
export interface Turn {
  role: 'system' | 'user' | 'assistant';
  parts: Part[];
  /** `developer` if the client distinguished it from `system`. */
  developer?: boolean;
  name?: string;
}

export interface Tool extends ToolName {
  description?: string;
  /** Description of its namespace. */
  namespaceDescription?: string;
  /** JSON Schema of the arguments; absent for a tool without arguments. */
  parameters?: Json;
  strict?: boolean;
  /** A free-text tool (its format object in the form of chat completions, if it has one). */
  custom?: { format?: Json };
  cache?: CacheMark;
}

export type ToolChoice =
  | { type: 'none' }
  | { type: 'auto' }
  | { type: 'required' }
  | ({ type: 'named' } & ToolName)
  | { type: 'allowed'; tools: ToolName[]; required: boolean };

export type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export interface ReasoningRequest {
  effort?: Effort;
  /** Reasoning budget in tokens; -1 lets the model decide. */
  budget?: number;
  /** False hides the reasoning from the client. */
  visible?: boolean;
}

export type ResponseFormat =
  | { type: 'json' }
  | { type: 'schema'; schema: Json; name?: string; description?: string; strict?: boolean };

export interface ChatRequest {
  stream: boolean;
  turns: Turn[];
  tools: Tool[];
  toolChoice?: ToolChoice;
  /** False forbids more than one tool call per turn. */
  parallelCalls?: boolean;
  maxTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  frequencyPenalty?: number;
  presencePenalty?: number;
  seed?: number;
  stop?: string[];
  /** Number of answers; 1 if absent. */
  candidates?: number;
  /** Log probabilities are requested, with this many alternatives per token. */
  logprobs?: number;
  logitBias?: Json;
  format?: ResponseFormat;
  reasoning?: ReasoningRequest;
  verbosity?: 'low' | 'medium' | 'high';
  cacheKey?: string;
  tier?: 'auto' | 'default' | 'flex' | 'priority' | 'ultrafast';
  user?: string;
  metadata?: Json;
  /** `location`: `{city, region, country, timezone}`, all optional. `optional`: beside other tools, which suffice. `sources`: with addresses of pages. */
  webSearch?: { contextSize?: string; location?: Json; optional?: boolean; sources?: boolean };
  /** Output modalities; text if absent. */
  modalities?: ('text' | 'image' | 'audio' | 'video')[];
  audio?: Json;
  /** The `token` of an answer that this request continues. */
  continuation?: string;
  /** Tuning fields of the client's body that the hub does not represent, in the client's spelling. */
  dropped: string[];
}

/** Counts of tools that the provider runs and bills apart. */
export type ToolUse = Pick<Usage, 'searches' | 'imageToolOutput' | 'fileSearches' | 'containers'>;

/** All counts in tokens. `input` includes cached, cache-write and tool-use tokens; `output` includes reasoning. */
export interface Usage {
  input: number;
  output: number;
  cached?: number;
  /** Audio and image tokens within `cached`. */
  cachedAudio?: number;
  cachedImage?: number;
  cacheWrite?: number;
  /** Tokens within `cacheWrite` with a lifetime of one hour. */
  cacheWrite1h?: number;
  reasoning?: number;
  toolInput?: number;
  audioInput?: number;
  audioOutput?: number;
  imageInput?: number;
  imageOutput?: number;
  /** Tokens of the model behind a tool of the provider that makes images, which are not in `input` and `output`. */
  imageToolInput?: number;
  imageToolOutput?: number;
  searches?: number;
  /** Searches in files that the provider stores. */
  fileSearches?: number;
  /** Containers in which tools of the provider ran. */
  containers?: number;
  /** 1 for an answer with places of a map. */
  mapRequests?: number;
  tier?: string;
  /** Whether the upstream processed the request within a region, at another price; absent if it did not say. */
  regional?: boolean;
  /** Cost of the answer in USD, as reported by the upstream. */
  reportedCost?: number;
  /** True if the upstream reported no usage and the counts are estimated. */
  estimated?: boolean;
  /** Usage of each round, of which this is the sum: the length of its own prompt decides its prices. */
  rounds?: Usage[] | undefined;
}

export type FinishReason =
  | 'stop'
  | 'stop-sequence'
  | 'length'
  | 'context-full'
  | 'calls'
  | 'filtered'
  | 'refused'
  | 'blocked'
  | 'paused'
  | 'continuation'
  | 'malformed'
  | 'other';

export interface Finish {
  reason: FinishReason;
  /** The upstream's own reason, e.g. `PROHIBITED_CONTENT`. */
  raw?: string;
  stopSequence?: string;
  /** Explanation by the upstream, if any. */
  explanation?: string;
  /** The category of a refusal or block, e.g. `cyber`. */
  category?: string;
  /** Token that the next request must carry to resume after `continuation`. */
  token?: string;
}

/** The start of a part in a stream; text and arguments may be empty and grow by deltas. */
export type OpenPart = Exclude<Part, ResultPart>;

/** A response as a stream. Part indexes count over the whole message from 0; a part's events never interleave with another part of the same candidate. */
export type ChatEvent =
  | { type: 'message-start'; id: string; model: string; created?: number; usage?: Usage }
  | { type: 'part-start'; index: number; candidate: number; part: OpenPart }
  | {
      type: 'part-delta';
      index: number;
      text?: string;
      opaque?: Opaque;
      citation?: Citation;
      logprobs?: TokenLogprob[];
    }
  | { type: 'part-end'; index: number }
  | { type: 'candidate-end'; candidate: number; finish: Finish }
  | { type: 'message-end'; usage?: Usage }
  | { type: 'ping' }
  | { type: 'error'; error: GatewayError };

export interface ChatCandidate {
  parts: OpenPart[];
  finish: Finish;
}

/** A whole answer: the fold of its events. `candidates` is never empty. */
export interface ChatResponse {
  id: string;
  model: string;
  /** Unix seconds. */
  created?: number;
  candidates: ChatCandidate[];
  usage?: Usage;
}
