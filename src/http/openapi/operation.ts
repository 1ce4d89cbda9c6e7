/** API operation: one route in the OpenAPI description. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';

export interface ApiOperation {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path template, with parameter names in braces. */
  path: string;
  /** `operationId`, unique in the document. */
  id: string;
  summary: string;
  tag: string;
  /** Required credential: none, a key, the admin token, or a session of any role; sessions stand for the others by their role. */
  access: 'anyone' | 'key' | 'admin' | 'session';
  query?: readonly Parameter[];
  headers?: readonly Parameter[];
  body?: { types: readonly string[]; schema: Named; optional?: true };
  response: {
    status: number;
    description: string;
    type: string;
    schema: Named | TSchema;
    /** Clients may ask for a range of the bytes. */
    ranges?: true;
  };
  /** Media type of the response if it can also be a stream. */
  streamType?: string;
}

export interface Parameter {
  name: string;
  description: string;
  schema: TSchema;
}

/** Parameter for the format of a list. */
export const FORMAT: Parameter = {
  name: 'format',
  schema: Type.Unsafe<string>({ type: 'string', enum: ['json', 'csv'] }),
  description: 'json if absent. As csv all rows of the filters come as one file, without pages.',
};

/** Schema in `components`, referenced by its name. */
export interface Named {
  name: string;
  schema: TSchema;
}

export const JSON_TYPE = 'application/json';
export const CSV_TYPE = 'text/csv';
export const EVENTS = 'text/event-stream';

/** Schema of a value that the protocol's own documentation describes. */
export const anyObject: TSchema = Type.Object({});

/** JSON response of a route that reports a current state. */
export const CURRENT_STATE: ApiOperation['response'] = {
  status: 200,
  description: 'As it is now.',
  type: JSON_TYPE,
  schema: anyObject,
};

export function isNamed(schema: Named | TSchema): schema is Named {
  return 'name' in schema && 'schema' in schema;
}
