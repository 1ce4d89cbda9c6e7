/**
 * Operations: what a protocol offers its clients and asks of its upstreams, e.g. `complete` (answer a conversation). An
 * operation has one name in all protocols, and one form between them, so that each client's request can be translated for
 * each upstream that offers it.
 */

import type { TSchema } from 'typebox';
import type { ChatEvent, ChatRequest, ChatResponse, OpenPart, Usage } from './chat.ts';
import type { EmbeddingRequest, EmbeddingResponse } from './embedding.ts';
import type { GatewayError } from './errors.ts';
import type { Json } from './json/json.ts';
import type { KnownNames } from './json/names.ts';
import type { ModelRules } from './model.ts';
import type { AskedOutput } from './output.ts';
import type { SseEvent } from './sse.ts';

/** Lower-cased names, as Node gives them. */
export type Headers = Record<string, string | string[] | undefined>;

/** Path prefixes of the protocols that have one, without slashes. */
export interface Prefixes {
  messages: string;
  generate: string;
}

/** What a path says of a request; absent members are read from the body. */
export interface RouteMatch {
  model?: string;
  stream?: boolean;
  /** A streamed answer as one JSON array. */
  array?: boolean;
}

/** A route that clients call. */
export interface ClientRoute<Match> {
  method: 'GET' | 'POST';
  /** The literal start of the path, e.g. `/gemini/v1beta`. */
  path: string;
  /**
   * `rest` is the path after `path`, split at slashes and percent-decoded once. Undefined when it names something else.
   * Throws `invalid_request` for bad query values.
   */
  match(rest: string[], query: URLSearchParams): Match | undefined;
  /** The whole paths below `path`, with names in braces for what varies, e.g. `/v1/models/{provider}/{model}`. */
  templates: readonly RouteTemplate[];
}

export interface RouteTemplate {
  path: string;
  /** Its answer is an event stream, always; absent where the body may ask for one, or nothing can. */
  streams?: true;
}

/** Where a request goes and what is accepted there. */
export interface Target {
  /** Whose opaque state may be sent there, and whose state comes back: provider and model family. */
  origin: string;
  /** The id the upstream knows. */
  model: string;
  rules: ModelRules;
  /** The gateway's own id of the answer, which no other answer has: upstreams may repeat theirs. */
  answerId?: string;
}

export interface EncodedRequest {
  body: Json;
  /** Hub parameters (keys of `ChatRequest`, or dotted details of them) that the target can't carry and that only tune. */
  dropped: string[];
}

/** In USD. */
export interface Cost {
  total: number;
  /** The cost without any output. */
  input: number;
}

/** The cost of an answer; undefined where no price is known. */
export type CostOf = (usage: Usage) => Cost | undefined;

export interface EncoderOptions {
  /** `<provider>/<model_id>`, shown instead of the upstream's name. */
  model: string;
  /** Unix seconds. */
  created: number;
  /** The client asked for a usage chunk (chat completions). */
  includeUsage: boolean;
  /** A streamed answer as one JSON array (generate content). */
  array: boolean;
  /** The client doesn't want reasoning text. */
  hideReasoning: boolean;
  /** Absent where no protocol is to say it. */
  costOf?: CostOf;
}

/** What the upstream called its answer, and its own word for why it ended. */
export interface AnswerFacts {
  id?: string;
  /** The upstream's own name of the model. */
  model?: string;
  finish?: string;
}

/** A member to be set in an object, by the path that leads there. */
export interface Member {
  path: readonly string[];
  value: Json;
}

/** Turns events into the bytes of a stream, as text; `end` closes it once after the last event. */
export interface StreamEncoder {
  encode(event: ChatEvent): string;
  /** What is sent after `message-end`; empty where the last event closes the stream. */
  end(): string;
}

/** Turns frames into events; `end` reports a stream that closed too early as an error event. */
export interface StreamDecoder {
  decode(event: SseEvent): ChatEvent[];
  end(): ChatEvent[];
}

/** Where generated text stands in the frames of a stream, so that it can be measured without parsing them. */
export interface TextPlaces {
  /** Text stands behind the first of these that a frame has; a frame without any of them has none. */
  after: readonly string[];
  /** And before this. */
  before?: string;
  /** Members that hold text; a frame has it in one of them. */
  text: readonly string[];
  /** Members of tool calls. */
  calls: readonly string[];
  /** A frame may have several parts, else only the first member of a name counts. Calls always may be several. */
  several?: boolean;
}

/** Opaque state of providers, such as signatures of reasoning, in the bodies of an operation. */
export interface StateAccess {
  /** Members, at any depth, whose text is opaque state. */
  readonly fields: readonly string[];
  /** The turns of a request that the model said, which may hold state. */
  modelTurns(body: Json): Json[];
  /**
   * Undoes `wrap` in a relayed body, in place: state of `origin` becomes the provider's own again, anyone else's is taken
   * out together with the reasoning that it signs. True when something changed.
   */
  restore(body: Json, origin: string): boolean;
}

/** What every operation has. */
interface OperationBase {
  /** One line for the description of the API. */
  readonly summary: string;
  /** The name in OpenTelemetry's conventions for generative AI, e.g. `chat`. */
  readonly telemetryName: string;

  // Facing clients.
  /** Empty where only upstreams are asked for it. */
  routes(prefixes: Prefixes): ClientRoute<RouteMatch>[];
  /** The body that it takes, for the description of the API. */
  readonly schema: TSchema;
  /** A short valid body, but for its model. */
  readonly example: Json;
  /** The names of its members; a member that differs from one only in case is refused. */
  readonly names: KnownNames;
  /**
   * Throws `invalid_request` naming the field for a body that no upstream may get: wrong kinds of values, and the limits of
   * the gateway's own contract. An upstream of the same protocol decides about the rest.
   */
  checkLimits(body: Json): void;
  /** Throws `invalid_request` naming the field for a body that breaks the protocol's own rules, on which translation relies. */
  check(body: Json): void;
  /** Names the conversation among all of a key: the client's own name for it, else how it began. */
  conversation(body: Json, headers: Headers): string;

  // Facing upstreams.
  /** Below the base URL of the provider, for the body that is sent there. */
  upstreamPath(model: string, stream: boolean, body?: Json): string;
  /** Members of a client's body that are meant for the gateway and never go upstream. */
  readonly gatewayFields: readonly string[];
  /** Where a relayed body names its model, if it does, and how the upstream's id is spelled there. */
  readonly requestModel: {
    paths: readonly (readonly string[])[];
    /** It is added where a body has none. */
    required: boolean;
    spell(model: string): string;
  };
  /** Where bodies hold opaque state of a provider; absent where they hold none. */
  readonly state?: StateAccess;

  // Watching a relayed answer.
  /** Members that clients require of a whole answer and not every server sends, each with the value that says nothing. */
  readonly requiredMembers?: Readonly<Record<string, Json>>;
  /** Where the model's name stands, as paths of member names. */
  readonly modelPaths: readonly (readonly string[])[];
  usageOf(body: Json): Partial<Usage> | undefined;
  /** As far as a body or frame says it. */
  factsOf(body: Json): AnswerFacts;
  /** Set where an answer's usage says what the answer costs: where it stands, and what is to be set in it. */
  readonly cost?: { path: readonly string[]; members(counted: Json, usage: Partial<Usage>, costOf: CostOf): Member[] };
}

/** Answers a conversation, whole or streamed. */
export interface CompleteOperation extends OperationBase {
  readonly name: 'complete';

  // Facing clients.
  /** The caller sets `stream`, which some protocols have in the URL. Throws `unsupported_*` for what the hub can't hold. */
  decodeRequest(body: Json): ChatRequest;
  encodeResponse(response: ChatResponse, options: EncoderOptions): Json;
  streamEncoder(options: EncoderOptions): StreamEncoder;
  /** The client's name of a part that an answer has no place for, and its address; undefined for all that is shown. */
  unshown?(part: OpenPart): { name: string; url?: string } | undefined;
  /** `Content-Type` of a streamed answer. */
  streamType(options: EncoderOptions): string;
  /** The text of an error inside a stream that has begun; nothing follows it. */
  encodeStreamError(error: GatewayError, requestId: string, options: EncoderOptions): string;
  /** A comment or ping that every client of this protocol skips. */
  readonly keepAlive: string;

  // Facing upstreams.
  /** How much output a body asks for. */
  outputOf(body: Json): AskedOutput;
  /** Sets the largest output of an answer in a body, in place. */
  limitOutput(body: Json, tokens: number, rules: ModelRules): void;
  /** What the upstream accepts as the name of a tool; others are renamed on the way. */
  readonly toolName: RegExp;
  /** The media type of what stands behind a URL must be told. */
  readonly needsMediaTypes?: boolean;
  /** Throws `unsupported_*` when the target would answer with something else than asked. */
  encodeRequest(request: ChatRequest, target: Target): EncodedRequest;
  decodeResponse(body: Json, target: Target): ChatResponse;
  streamDecoder(target: Target): StreamDecoder;

  // Watching a relayed stream.
  readonly textPlaces: TextPlaces;
  /**
   * Set where a stream carries usage only when asked: the member that asks, the frame that exists only for it, and the
   * member of the other frames that is null then.
   */
  readonly streamUsage?: {
    field: string;
    value: Json;
    member: string;
    asked(body: Json): boolean;
    isExtra(body: Json): boolean;
  };
  /** A frame without these bytes carries no usage and is not parsed for it. */
  readonly usageMark: Buffer;
  /** Whether a frame only opens the stream: an error may still come in the place of an answer. */
  isPreamble?(event: SseEvent): boolean;
  /** Whether a frame is a keep-alive that every client skips. */
  isPing?(event: SseEvent): boolean;
  /** Whether a frame ends the stream properly. */
  isEnd(event: SseEvent): boolean;
  /** Bytes of the frames that may be the last ones of a stream, after which a client waits for no more. */
  readonly endMarks: readonly Buffer[];
  /** A frame with one of these that ends the stream is always the last one. */
  readonly endIsLast: boolean;
}

/** Counts the input tokens of a conversation. */
export interface CountTokensOperation extends OperationBase {
  readonly name: 'count-tokens';
  encodeCount(tokens: number): Json;
  /** The body of a count for an encoded request of `complete`. */
  countBody(body: Json, target: Target): Json;
  decodeCount(body: Json): number | undefined;
}

/** Turns texts into vectors. */
export interface EmbedOperation extends OperationBase {
  readonly name: 'embed';
  /** Throws `unsupported_*` for inputs that the hub can't hold. */
  decodeRequest(body: Json): EmbeddingRequest;
  /** In the form that the client's `request` asks for. */
  encodeResponse(response: EmbeddingResponse, request: Json, model: string): Json;
  /** Throws `unsupported_*` when the target would answer with something else than asked. */
  encodeRequest(request: EmbeddingRequest, target: Target): EncodedRequest;
  decodeResponse(body: Json): EmbeddingResponse;
  /** Whether the vectors of an answer are written as the client's `request` asks, so that its bytes may pass. */
  isAsAsked(response: Json, request: Json): boolean;
  /** Adjusts a body of a client for the target, in place; true when something changed. Throws `unsupported_*`. */
  adjust(body: Json, target: Target): boolean;
}

/** By name. A new operation is a member here, one in the protocols that offer it, and a file in `inference/operations`. */
export interface Operations {
  readonly complete: CompleteOperation;
  readonly 'count-tokens'?: CountTokensOperation;
  readonly embed?: EmbedOperation;
}

export type OperationName = keyof Operations;
export type Operation = Required<Operations>[OperationName];

export function operationsOf(protocol: { operations: Operations }): Operation[] {
  return Object.values(protocol.operations);
}
