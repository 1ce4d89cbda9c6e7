/** Protocols: a wire format towards clients and towards upstreams, with the operations that it offers. */

import type { TSchema } from 'typebox';
import type { GatewayError } from './errors.ts';
import type { Fields } from './fields.ts';
import type { Json } from './json/json.ts';
import type { CatalogModel } from './model.ts';
import type { ClientRoute, OperationName, Operations, Prefixes } from './operation.ts';
import type { SocketForm } from './socket.ts';

/** A catalog request of a client. */
export type CatalogQuery =
  | { type: 'list-models'; provider?: string; page: PageQuery /** Only ids and names. */; namesOnly?: boolean }
  | { type: 'count-models' }
  | { type: 'get-model'; id: string /** Wrapped in an object, as the member `data`. */; enveloped?: boolean };

export interface PageQuery {
  limit?: number;
  after?: string;
  before?: string;
  /** Number of models to skip, instead of a cursor. */
  offset?: number;
}

/** Query parameter of a model list, in the API description. */
export interface PageParameter {
  name: string;
  description: string;
  schema: TSchema;
}

/** Paging facts of a model list. */
export interface CatalogPage {
  more: boolean;
  /** Number of models on all pages. */
  total: number;
  provider?: string;
  limit?: number;
  namesOnly?: boolean;
}

export interface WireError {
  status: number;
  body: Json;
}

/** Members of operations that upstreams do not need. */
type ClientMember =
  | ('summary' | 'telemetryName' | 'routes' | 'schema' | 'example' | 'checkLimits' | 'check' | 'conversation')
  | ('decodeRequest' | 'encodeResponse' | 'streamEncoder' | 'streamType' | 'encodeStreamError' | 'keepAlive')
  | 'encodeCount';

/** The sides of operations that face upstreams. */
export type UpstreamOperations = {
  readonly [Name in keyof Operations]: Name extends 'complete'
    ? UpstreamSide<'complete'>
    : UpstreamSide<Name> | undefined;
};
type UpstreamSide<Name extends OperationName> = Omit<Required<Operations>[Name], ClientMember>;
export type UpstreamOperation = { [Name in OperationName]: UpstreamSide<Name> }[OperationName];

/** The side of a protocol that faces upstreams; some protocols have no other. */
export interface UpstreamProtocol {
  /** Id of the protocol, and of its surface in the scopes of keys. */
  readonly id: string;
  readonly operations: UpstreamOperations;
  /** Loads the codecs; they may be used when it has resolved. Absent if they always may. */
  load?(): Promise<void>;
  /** Client headers forwarded to upstreams of the same protocol, with their names there. */
  readonly forwardedHeaders: Readonly<Record<string, string>>;
  /** Converts an error response of an upstream; the body may have any form. */
  decodeError(status: number, body: unknown): GatewayError;
  /** The error in a 200 body or in a frame's data, if any. */
  errorIn(body: Json): GatewayError | undefined;
  /** Whether the client's library reads an error response with this body as it is; absent if it reads all in which `errorIn` finds one. */
  readsError?(body: Json): boolean;
}

export interface Protocol extends UpstreamProtocol {
  /** The name in `api_type` of a usage record as OpenRouter shows it. */
  readonly apiType: string;
  readonly operations: Operations;
  /** The operation `complete` over a WebSocket; absent in protocols without one. */
  readonly socket?: SocketForm;
  catalogRoutes(prefixes: Prefixes): ClientRoute<CatalogQuery>[];
  /** Those that the routes of model lists read; absent in protocols whose lists have no pages. */
  readonly pageParameters?: readonly PageParameter[];
  /** All API keys of a request; more than one distinct value is ambiguous. */
  credentials(headers: Fields, query: URLSearchParams): string[];
  /** Throws `invalid_request` if a required header is missing, e.g. the version. */
  checkHeaders?(headers: Fields): void;
  encodeError(error: GatewayError, requestId: string): WireError;
  readonly requestIdHeader: string;
  /** The wire name of a hub parameter, for errors and the dropped header. */
  parameterName(parameter: string): string;
  encodeModel(model: CatalogModel): Json;
  encodeModels(models: Json[], page: CatalogPage): Json;
  /** Response with the number of models; absent in protocols without one. */
  encodeModelCount?(total: number): Json;
}
