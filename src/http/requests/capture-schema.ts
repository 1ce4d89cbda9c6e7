/** Schema of a capture in responses. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';

const count = Type.Integer({ minimum: 0 });
const milliseconds = Type.Integer({ minimum: 0, description: 'Since the beginning of the request.' });
const text = Type.String();

function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

const headers = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string' },
  description: 'With *** in place of values that can be credentials.',
});

const body = Type.Object({
  bytes: Type.Integer({ minimum: 0, description: 'Of the whole body.' }),
  truncated: Type.Boolean({ description: 'Whether the end is missing here.' }),
  text: Type.Optional(Type.String({ description: 'Whole body.' })),
  frames: Type.Optional(Type.Array(Type.Object({ ms: milliseconds, text }), { description: 'Frames of a stream.' })),
  base64: Type.Optional(Type.String({ description: 'Whole body that is no text.' })),
});

const request = Type.Object({
  method: text,
  url: nullable(Type.String({ description: 'Without credentials; null for holders of keys.' })),
  headers,
  body,
});

const response = Type.Object({
  status: count,
  head_ms: milliseconds,
  headers,
  body: nullable(body),
  trailers: Type.Optional(headers),
});

const sending = Type.Object({
  attempt: Type.Integer({ minimum: 1 }),
  endpoint: text,
  protocol: text,
  path: Type.String({ description: 'passthrough, patched or translated.' }),
  dropped: Type.Array(text, { description: 'Fields that were dropped.' }),
  note: nullable(text),
  error: nullable(text),
  sent_ms: milliseconds,
  request,
  response: nullable(response),
});

export const captureDetail = Type.Object({
  data: Type.Object({
    id: text,
    request_id: text,
    started_at: Type.String({ format: 'date-time' }),
    total_ms: milliseconds,
    protocol: text,
    request,
    upstream: Type.Array(sending, { description: 'Every request to an upstream, in their order.' }),
    response: nullable(response),
  }),
});
