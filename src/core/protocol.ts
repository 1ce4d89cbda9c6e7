/** What a wire format must offer: facing clients, facing upstreams, and watching a relayed stream. */

import type { TSchema } from 'typebox';
import type { ChatEvent, ChatRequest, ChatResponse, OpenPart, Usage } from './chat.ts';
import type { GatewayError } from './errors.ts';
import type { Json } from './json/json.ts';
import type { KnownNames } from './json/names.ts';
import type { CatalogModel, ModelRules } from './model.ts';
import type { AskedOutput } from './output.ts';
import type { SseEvent } from './sse.ts';

/** Lower-cased names, as Node gives them. */
export type Headers = Record<string, string | string[] | undefined>;

/** Path prefixes of the protocols that have one, without slashes. */
export interface Prefixes {
  messages: string;
  generate: string;
}

/** What a client asks for, read from the method and URL (and for `generate` later completed from the body). */
export type Action =
  | { type: 'generate'; model?: string; stream?: boolean /** A streamed answer as one JSON array. */; array?: boolean }
  | { type: 'count'; model?: string }
  | { type: 'list-models'; provider?: string; page: PageQuery }
  | { type: 'count-models' }
  | { type: 'get-model'; id: string /** Inside an object, as the member `data`. */; enveloped?: boolean };

export interface PageQuery {
  limit?: number;
  after?: string;
  before?: string;
  /** How many models to leave out, in place of a cursor. */
  offset?: number;
}

/** What is to be said of a page of models. */
export interface CatalogPage {
  more: boolean;
  /** Of all pages. */
  total: number;
  provider?: string;
  limit?: number;
}

export interface ClientRoute {
  method: 'GET' | 'POST';
  /** The literal start of the path, e.g. `/gemini/v1beta`. The rest is given to `action` split at slashes and percent-decoded once. */
  path: string;
  /** Undefined when no such path exists under this endpoint. Throws `invalid_request` for bad query values. */
  action(rest: string[], query: URLSearchParams): Action | undefined;
  /** What there is below `path`, for the description of the API. */
  operations: readonly RouteDescription[];
}

export interface RouteDescription {
  /** The whole path, with names in braces for what varies, e.g. `/v1/models/{provider}/{model}`. */
  path: string;
  action: Action['type'];
  /** What it answers is an event stream, always; absent where the body may ask for one, or nothing can. */
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
  /** What it would be without any output. */
  input: number;
}

/** What an answer costs; undefined where nobody knows. */
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

export interface WireError {
  status: number;
  body: Json;
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

export interface Protocol {
  readonly id: string;

  // Facing clients.
  endpoints(prefixes: Prefixes): ClientRoute[];
  /** Every API key that a request presents; more than one value is an ambiguity. */
  credentials(headers: Headers, query: URLSearchParams): string[];
  /** Throws `invalid_request` when the headers lack what the protocol demands, e.g. a version. */
  checkHeaders?(headers: Headers): void;
  /** The bodies that it takes, for the description of the API. */
  readonly schemas: { readonly generate: TSchema; readonly count?: TSchema };
  /** Those of its bodies; one that differs from them only in case is refused. */
  readonly names: KnownNames;
  /**
   * Throws `invalid_request` naming the field for a body that no upstream may get: its kinds of values, and the limits of
   * the gateway's own contract. An upstream of the same protocol decides about the rest.
   */
  checkLimits(body: Json, action: 'generate' | 'count'): void;
  /** Throws `invalid_request` naming the field for a body that breaks the protocol's own rules; `decodeRequest` relies on them. */
  check(body: Json, action: 'generate' | 'count'): void;
  /** The caller sets `stream`, which some protocols have in the URL. Throws `unsupported_*` for what the hub can't hold. */
  decodeRequest(body: Json): ChatRequest;
  encodeResponse(response: ChatResponse, options: EncoderOptions): Json;
  streamEncoder(options: EncoderOptions): StreamEncoder;
  /** The client's name of what an answer of this protocol has no place for, and where it is; undefined for all that is shown. */
  unshown?(part: OpenPart): { name: string; url?: string } | undefined;
  /** `Content-Type` of a streamed answer. */
  streamType(options: EncoderOptions): string;
  encodeError(error: GatewayError, requestId: string): WireError;
  /** The text of an error inside a stream that has begun; nothing follows it. */
  encodeStreamError(error: GatewayError, requestId: string, options: EncoderOptions): string;
  /** A comment or ping that every client of this protocol skips. */
  readonly keepAlive: string;
  readonly requestIdHeader: string;
  /** The client's own spelling of a hub parameter, for errors and the dropped header. */
  parameterName(parameter: string): string;
  /**
   * What the calls of one conversation have in common and others have not: the client's own name for it, else how it
   * began.
   */
  conversation(body: Json, headers: Headers): string;
  encodeModel(model: CatalogModel): Json;
  encodeModels(models: Json[], page: CatalogPage): Json;
  /** Where clients of the protocol ask for the number alone. */
  encodeModelCount?(total: number): Json;
  encodeCount(tokens: number): Json;

  // Facing upstreams.
  upstreamPath(model: string, action: 'generate' | 'count', stream: boolean): string;
  /** How much output a body of this protocol asks for. */
  outputOf(body: Json): AskedOutput;
  /** Sets the largest output of an answer in a body, in place. */
  limitOutput(body: Json, tokens: number, rules: ModelRules): void;
  /** What the upstream accepts as the name of a tool; others are renamed on the way. */
  readonly toolName: RegExp;
  /** Members of a client's body that are meant for the gateway and never go upstream. */
  readonly gatewayFields: readonly string[];
  /** Where a relayed body names its model, if it does, and how the upstream's id is spelled there. */
  readonly requestModel: {
    paths: readonly (readonly string[])[];
    /** It is given where a body has none. */
    required: boolean;
    spell(model: string): string;
  };
  /**
   * Undoes `wrap` in a relayed body, in place: state of `origin` becomes the provider's own again, anyone else's is taken
   * out together with the reasoning that it signs. True when something changed.
   */
  restoreState(body: Json, origin: string): boolean;
  /** Members, at any depth of its bodies, whose text is opaque state. */
  readonly stateFields: readonly string[];
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
  /** Request headers of clients that same-protocol upstreams get to see, each with its name there. */
  readonly forwardedHeaders: Readonly<Record<string, string>>;
  /** Throws `unsupported_*` when the target would answer with something else than asked. */
  encodeRequest(request: ChatRequest, target: Target): EncodedRequest;
  decodeResponse(body: Json, target: Target): ChatResponse;
  streamDecoder(target: Target): StreamDecoder;
  decodeError(status: number, body: unknown): GatewayError;
  /** The body of a token count for an encoded request; absent where the protocol cannot count. */
  countBody?(body: Json, target: Target): Json;
  decodeCount(body: Json): number | undefined;

  // Watching a relayed answer.
  /** What clients require of a whole answer and not every server of the protocol sends, with the value that says nothing. */
  readonly requiredMembers?: Readonly<Record<string, Json>>;
  /** Where the model's name stands, as paths of member names. */
  readonly modelPaths: readonly (readonly string[])[];
  readonly textPlaces: TextPlaces;
  /** A frame without these bytes carries no usage and is not parsed for it. */
  readonly usageMark: Buffer;
  usageOf(body: Json): Partial<Usage> | undefined;
  /** As far as a body or frame says it. */
  factsOf(body: Json): AnswerFacts;
  /** Set where an answer's usage says what the answer costs: where it stands, and what is to be set in it. */
  readonly cost?: { path: readonly string[]; members(counted: Json, usage: Partial<Usage>, costOf: CostOf): Member[] };
  /** The error in a 200 body or in a frame's data, if it is one. */
  errorIn(body: Json): GatewayError | undefined;
  /** Whether a frame only opens the stream: an error may still come in the place of an answer. */
  isPreamble?(event: SseEvent): boolean;
  /** Whether a frame is a sign of life that every client skips. */
  isPing?(event: SseEvent): boolean;
  /** Whether a frame ends the stream properly. */
  isEnd(event: SseEvent): boolean;
  /** Bytes of the frames that may be the last ones of a stream, after which a client waits for no more. */
  readonly endMark: Buffer;
  /** A frame with these bytes that ends the stream is always the last one. */
  readonly endIsLast: boolean;
}
