/** Descriptions of the routes of stored responses. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import type { RouteDescription } from '../route-table.ts';
import { type ApiOperation, anyObject, EVENTS, JSON_TYPE, type Named, type Parameter } from './operation.ts';

const query = (name: string, schema: TSchema, description: string): Parameter => ({ name, schema, description });

export const ITEM_LIST: Named = {
  name: 'ResponseItemList',
  schema: Type.Object({
    object: Type.Literal('list'),
    data: Type.Array(anyObject),
    first_id: Type.Union([Type.String(), Type.Null()]),
    last_id: Type.Union([Type.String(), Type.Null()]),
    has_more: Type.Boolean(),
  }),
};

/** Response with status 200 and a JSON body. */
export function json(description: string, schema: Named | TSchema): ApiOperation['response'] {
  return { status: 200, description, type: JSON_TYPE, schema };
}

export const INCLUDE = query(
  'include',
  Type.Array(Type.String()),
  'Further content, e.g. reasoning.encrypted_content.',
);

export const PAGE: readonly Parameter[] = [
  query('limit', Type.Integer({ minimum: 1, maximum: 100 }), 'Items on a page; 20 if absent.'),
  query('order', Type.Enum(['asc', 'desc']), 'The newest first if absent.'),
  query('after', Type.String(), 'The last item of the page before.'),
];

/** By the last segment of the route's name. */
export const RESPONSE_DESCRIPTIONS = {
  get: {
    summary: 'Get a stored response',
    query: [
      INCLUDE,
      query('stream', Type.Boolean(), 'As the events of its stream.'),
      query('starting_after', Type.Integer({ minimum: 0 }), 'Only events after the one with this sequence_number.'),
    ],
    response: json('As the protocol has it.', anyObject),
    streamType: EVENTS,
  },
  delete: { summary: 'Delete a stored response', response: json('The id of the deleted response.', anyObject) },
  cancel: {
    summary: 'Cancel a background response',
    response: json('The cancelled response; the same when asked again.', anyObject),
  },
  items: {
    summary: 'List the input items of a stored response',
    query: [...PAGE, query('before', Type.String(), 'The first item of the page after.'), INCLUDE],
    response: json('A page of items.', ITEM_LIST),
  },
} satisfies Record<string, Omit<RouteDescription, 'id' | 'tag'>>;

export type ResponseAction = keyof typeof RESPONSE_DESCRIPTIONS;
