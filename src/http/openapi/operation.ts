/** One route of the gateway as its description has it. */

import { type TSchema, Type } from 'typebox';

export interface ApiOperation {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With names in braces for what varies. */
  path: string;
  /** Unique among all. */
  id: string;
  summary: string;
  tag: string;
  /** Who may ask: anyone, the holder of a key, or of the admin token. */
  access: 'anyone' | 'key' | 'admin';
  query?: readonly Parameter[];
  headers?: readonly Parameter[];
  body?: { types: readonly string[]; schema: Named; optional?: true };
  answer: { status: number; description: string; type: string; schema: Named | TSchema };
  /** Of an answer that may come as a stream instead. */
  streamType?: string;
}

export interface Parameter {
  name: string;
  description: string;
  schema: TSchema;
}

/** A schema that stands once in the document, under its name. */
export interface Named {
  name: string;
  schema: TSchema;
}

export const JSON_TYPE = 'application/json';
export const EVENTS = 'text/event-stream';

/** What is described in the documents of its protocol, not here. */
export const anyObject: TSchema = Type.Object({});

/** JSON answer of a route that reports a current state. */
export const CURRENT_STATE: ApiOperation['answer'] = {
  status: 200,
  description: 'As it is now.',
  type: JSON_TYPE,
  schema: anyObject,
};

export function isNamed(schema: Named | TSchema): schema is Named {
  return 'name' in schema && 'schema' in schema;
}
