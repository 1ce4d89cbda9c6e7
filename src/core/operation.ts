/**
 * Operations: the API calls of a protocol, for its clients and at its upstreams, e.g. `complete` (answer a conversation). One
 * has the same name and hub form in all protocols, so that a client's request can be translated for any upstream that offers it.
 */

import type { TSchema } from 'typebox';
import type { ChatRequest, ChatResponse, OpenPart, Usage } from './chat.ts';
import type { EmbeddingRequest, EmbeddingResponse } from './embedding.ts';
import type { GatewayError } from './errors.ts';
import type { Fields } from './fields.ts';
import type { Json, Member } from './json/json.ts';
import type { KnownNames } from './json/names.ts';
import type { ModelRules } from './model.ts';
import type { ProviderTools, RequestedOutput, ShownUse } from './output.ts';
import type { SseEvent } from './sse.ts';
import type { StateAccess } from './state-access.ts';
import type { AnswerStorage, StoredAccess } from './stored-access.ts';
import type { StreamDecoder, StreamEncoder } from './stream-codec.ts';
import type { TextPlaces } from './text-places.ts';

/** Path prefixes of the protocols that have one, without slashes. */
export interface Prefixes {
  messages: string;
  generate: string;
}

/** Request parameters in the path; absent members are read from the body. */
export interface RouteMatch {
  model?: string;
  stream?: boolean;
  /** Stream the response as one JSON array. */
  array?: boolean;
}

/** A route that clients call. */
export interface ClientRoute<Match> {
  method: 'GET' | 'POST';
  /** The literal start of the path, e.g. `/gemini/v1beta`. */
  path: string;
  /**
   * `rest` is the path after `path`, split at slashes and percent-decoded once. Undefined if the path does not match.
   * Throws `invalid_request` for bad query values.
   */
  match(rest: string[], query: URLSearchParams): Match | undefined;
  /** Path templates below `path`, e.g. `/v1/models/{provider}/{model}`. */
  templates: readonly RouteTemplate[];
}

export interface RouteTemplate {
  path: string;
  /** The response is always a stream: of events with `alt=sse`, else a JSON array. Absent if the body decides, or there are no streams. */
  streams?: true;
}

/** Encoding target: the model and the rules of its endpoint. */
export interface Target {
  /** Owner of opaque state sent there and returned from there: provider and model family. */
  origin: string;
  /** Upstream model id. */
  model: string;
  rules: ModelRules;
  /** Unique id of the answer, assigned by the gateway: upstreams may repeat theirs. */
  answerId?: string;
}

export interface EncodedRequest {
  body: Json;
  /** Dropped tuning parameters: hub names (keys of `ChatRequest`, or dotted details of them) that the target can't carry. */
  dropped: string[];
}

/** Amounts in USD. */
export interface Cost {
  total: number;
  /** The cost without output. */
  input: number;
}

/** Computes the cost of an answer; undefined without a known price. */
export type CostOf = (usage: Usage) => Cost | undefined;

export interface EncoderOptions extends AnswerStorage {
  /** `<provider>/<model_id>`, shown instead of the upstream model id. */
  model: string;
  /** Unix seconds. */
  created: number;
  /** The client requested a usage chunk (chat completions). */
  includeUsage: boolean;
  /** A streamed response as one JSON array (generate content). */
  array: boolean;
  /** Reasoning text is hidden from the client. */
  hideReasoning: boolean;
  /** Absent if the response shows no cost. */
  costOf?: CostOf;
  /** Members that the answer takes from its request, by the client protocol's `echoOf`. */
  echo?: unknown;
  /** Unix seconds; absent means `created`. */
  now?(): number;
}

/** The upstream's own answer id and finish reason. */
export interface AnswerFacts {
  id?: string;
  /** The model name in the upstream's response. */
  model?: string;
  finish?: string;
  /** The number of the frame, in streams that number their frames. */
  sequence?: number;
}

/** Members of every operation. */
interface OperationBase {
  /** One-line summary for the API description. */
  readonly summary: string;
  /** Operation name in the OpenTelemetry conventions for generative AI, e.g. `chat`. */
  readonly telemetryName: string;

  // Facing clients.
  /** Empty if only upstreams offer it. */
  routes(prefixes: Prefixes): ClientRoute<RouteMatch>[];
  /** Request body schema for the API description. */
  readonly schema: TSchema;
  /** A short valid body without a model. */
  readonly example: Json;
  /** Known member names; a member that differs only in case is refused. */
  readonly names: KnownNames;
  /**
   * Throws `invalid_request` naming the field for a body that is never sent upstream: wrong types, and values beyond the
   * gateway's own limits. An upstream of the same protocol checks the rest.
   */
  checkLimits(body: Json): void;
  /** Throws `invalid_request` naming the field for a body that breaks the rules of the protocol, as translation requires. */
  check(body: Json): void;
  /** Identifies the conversation within its key: the client's own id, else its beginning. */
  conversation(body: Json, headers: Fields): string;
  /** The client's own id in the body, or the part of it that names the conversation; absent if bodies have none. */
  conversationName?(body: Json): Json;
  /** Whether a later request may name the conversation by the id of this one's answer. The body may have wrong types. */
  isContinuedById?(body: Json): boolean;

  // Facing upstreams.
  /** Path below the base URL of the provider. */
  upstreamPath(model: string, stream: boolean, body?: Json): string;
  /** Members of a client's body for the gateway; never sent upstream. */
  readonly gatewayFields: readonly string[];
  /** Member of a relayed body that names the model, if any, and the form of the upstream model id there. */
  readonly requestModel: {
    paths: readonly (readonly string[])[];
    /** The member is added if missing. */
    required: boolean;
    spell(model: string): string;
  };
  /** Opaque provider state in bodies; absent if they hold none. */
  readonly state?: StateAccess;
  /** Stored responses in bodies; absent if requests name none. */
  readonly stored?: StoredAccess;

  // Watching a relayed response.
  /** Members of a whole response that clients require and some servers omit, with their neutral values. */
  readonly requiredMembers?: Readonly<Record<string, Json>>;
  /** Throws `upstream_error` for a whole response without an answer. */
  checkAnswer?(body: Json): void;
  /** Paths of the members with the model name. */
  readonly modelPaths: readonly (readonly string[])[];
  usageOf(body: Json): Partial<Usage> | undefined;
  /** The facts reported in a body or frame. */
  factsOf(body: Json): AnswerFacts;
  /** Cost members of the usage in a response: the paths that the usage may have, and the members to set. */
  readonly cost?: {
    paths: readonly (readonly string[])[];
    members(counted: Json, usage: Partial<Usage>, costOf: CostOf): Member[];
  };
}

/** Operation `complete`: answers a conversation, whole or streamed. */
export interface CompleteOperation extends OperationBase {
  readonly name: 'complete';

  // Facing clients.
  /** The caller sets `stream`, which some protocols have in the URL. Throws `unsupported_*` for content that the hub can't represent. */
  decodeRequest(body: Json): ChatRequest;
  /** Number of failed tool results after the last turn of the model: a conversation is sent whole each time, and each failure counts once. Absent if the protocol does not mark them. The body may have wrong types. */
  toolFailuresOf?(body: Json): number;
  /** Returns what an answer takes from its request, such as members that it repeats. `sent`: the request with the items to which it refers. */
  echoOf?(body: Json, sent?: Json): unknown;
  encodeResponse(response: ChatResponse, options: EncoderOptions): Json;
  streamEncoder(options: EncoderOptions): StreamEncoder;
  /** Name and URL of a part that answers of this protocol cannot carry; undefined for other parts. */
  unshown?(part: OpenPart): { name: string; url?: string } | undefined;
  /** `Content-Type` of a streamed response. */
  streamType(options: EncoderOptions): string;
  /** The text of an error in a started stream; it ends the stream. `facts`: those of the stream so far. */
  encodeStreamError(error: GatewayError, requestId: string, options: EncoderOptions, facts?: AnswerFacts): string;
  /** Keep-alive: a comment or ping that every client of this protocol skips. */
  readonly keepAlive: string;

  // Facing upstreams.
  /** Members that provider options may not set. */
  readonly reservedFields?: readonly string[];
  /** Requested output of a body. */
  outputOf(body: Json): RequestedOutput;
  /** Service tier that a body asks for; absent if the protocol has none. The body may have wrong types. */
  tierOf?(body: Json): string | undefined;
  /** Whether a body names input that only the upstream has, such as a cached context. The body may have wrong types. */
  hidesInput?(body: Json): boolean;
  /** Tools of a body that the provider runs and bills apart. The body may have wrong types. */
  providerTools?(body: Json): ProviderTools;
  /** Size by which a container of the answer is billed, 0 where it is free; 1 if absent. The body may have wrong types. */
  containerSizeOf?(body: Json): number;
  /** Sets the output limit of a body, in place. */
  limitOutput(body: Json, tokens: number, rules: ModelRules): void;
  /** Tool names that the upstream accepts; other tools are renamed. */
  readonly toolName: RegExp;
  /** Media URLs must be sent with their media type. */
  readonly needsMediaTypes?: boolean;
  /** Schemas of answers must be of objects. */
  readonly answersAreObjects?: boolean;
  /** Throws `unsupported_*` if the target cannot answer as requested. */
  encodeRequest(request: ChatRequest, target: Target): EncodedRequest;
  /** Removes from a refused body, in place, the field that `error` is about, if it can be done without; returns its name. `isOwn`: the gateway wrote the body. */
  repair?(body: Json, error: GatewayError, isOwn: boolean): string | undefined;
  decodeResponse(body: Json, target: Target): ChatResponse;
  streamDecoder(target: Target): StreamDecoder;

  // Watching a relayed stream.
  readonly textPlaces: TextPlaces;
  /** For streams with usage on request only: the member that requests it, the frame that only carries it, and the member that is null in all others. */
  readonly streamUsage?: {
    field: string;
    value: Json;
    member: string;
    asked(body: Json): boolean;
    isExtra(body: Json): boolean;
  };
  /** A frame with none of these texts carries no usage and is not parsed. */
  readonly usageMarks: readonly string[];
  /** Billed tools of providers, which streams count at their end: marks of their frames, and the use that a frame or a native value shows as done. */
  readonly tools?: { readonly marks: readonly string[]; usedIn(body: Json): ShownUse | undefined };
  /** Whether a frame only opens the stream, or ends it without an answer, so that an error may still replace the response. */
  isPreamble?(event: SseEvent): boolean;
  /** Whether a frame has no part of an answer and may come often, as instead of pings. Some are held back, like a preamble. */
  isSilent?(event: SseEvent): boolean;
  /** Whether a frame is a large preamble, by its first characters; such a frame is not parsed. */
  isUnreadPreamble?(start: string): boolean;
  /** Whether a frame is a keep-alive that every client skips. */
  isPing?(event: SseEvent): boolean;
  /** Whether a frame ends the stream properly. */
  isEnd(event: SseEvent): boolean;
  /** ASCII texts that mark a possible last frame of a stream, in its data or its event name. */
  readonly endMarks: readonly string[];
  /** Marks of an end frame that no other frame follows. */
  readonly endIsLast: boolean;
}

/** Operation `count-tokens`: counts the input tokens of a conversation. */
export interface CountTokensOperation extends OperationBase {
  readonly name: 'count-tokens';
  encodeCount(tokens: number): Json;
  /** Converts an encoded request of `complete` to the body of a token count. */
  countBody(body: Json, target: Target): Json;
  /** Number of tokens; undefined if the body has none. */
  decodeCount(body: Json): number | undefined;
}

/** Operation `compact`: a shorter history of a conversation, by a provider that has it. */
export interface CompactOperation extends OperationBase {
  readonly name: 'compact';
}

/** Operation `embed`: converts texts to vectors. */
export interface EmbedOperation extends OperationBase {
  readonly name: 'embed';
  /** Throws `unsupported_*` for inputs that the hub can't represent. */
  decodeRequest(body: Json): EmbeddingRequest;
  /** Uses the vector encoding of the client's `request`. */
  encodeResponse(response: EmbeddingResponse, request: Json, model: string): Json;
  /** Throws `unsupported_*` if the target cannot answer as requested. */
  encodeRequest(request: EmbeddingRequest, target: Target): EncodedRequest;
  decodeResponse(body: Json): EmbeddingResponse;
  /** Whether the vectors of a response have the encoding of the client's `request`, so that its bytes can be passed through. */
  isAsAsked(response: Json, request: Json): boolean;
  /** Adjusts a client's body for the target, in place; returns whether it changed. Throws `unsupported_*`. */
  adjust(body: Json, target: Target): boolean;
}

/** Operations by name. A new operation needs a member here and in the protocols that offer it, and a handler in `inference/operations`. */
export interface Operations {
  readonly complete: CompleteOperation;
  readonly 'count-tokens'?: CountTokensOperation;
  readonly compact?: CompactOperation;
  readonly embed?: EmbedOperation;
}

export type OperationName = keyof Operations;
export type Operation = Required<Operations>[OperationName];

export function operationsOf(protocol: { operations: Operations }): Operation[] {
  return Object.values(protocol.operations);
}
