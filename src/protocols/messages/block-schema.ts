/** Schemas of the content blocks of the messages protocol; other fields and unknown block types pass. */

import type { TObject, TSchema } from 'typebox';
import * as Type from 'typebox';
import { MAX_ID_CHARACTERS, MAX_MEDIA_TYPE_CHARACTERS, MAX_NAME_CHARACTERS } from '../../core/lengths.ts';

const optional = (schema: TSchema) => Type.Optional(schema);
const oneOf = (...values: string[]) => Type.Union(values.map((value) => Type.Literal(value)));

export const CacheControl = Type.Object({ type: Type.Literal('ephemeral'), ttl: optional(oneOf('5m', '1h')) });

const MediaType = Type.String({ maxLength: MAX_MEDIA_TYPE_CHARACTERS });
const Id = Type.String({ minLength: 1, maxLength: MAX_ID_CHARACTERS });
const Name = Type.String({ minLength: 1, maxLength: MAX_NAME_CHARACTERS });

const marked = { cache_control: optional(CacheControl) };
const Content = Type.Union([Type.String(), Type.Array(Type.Object({ type: Type.String() }))]);
const Base64 = Type.Object({ type: Type.Literal('base64'), media_type: MediaType, data: Type.String() });
const Url = Type.Object({ type: Type.Literal('url'), url: Type.String() });
const File = Type.Object({ type: Type.Literal('file'), file_id: Type.String({ maxLength: MAX_ID_CHARACTERS }) });
const PlainText = Type.Object({ type: Type.Literal('text'), media_type: optional(MediaType), data: Type.String() });
const Blocks = Type.Object({ type: Type.Literal('content'), content: Content });

/** By block type. */
export const BLOCKS: Record<string, TObject> = {
  text: Type.Object({ text: Type.String(), ...marked }),
  image: Type.Object({ source: Type.Union([Base64, Url, File]), ...marked }),
  document: Type.Object({
    source: Type.Union([Base64, PlainText, Blocks, Url, File]),
    title: optional(Type.String()),
    context: optional(Type.String()),
    citations: optional(Type.Object({ enabled: optional(Type.Boolean()) })),
    ...marked,
  }),
  search_result: Type.Object({
    source: Type.String(),
    title: Type.String(),
    content: Type.Array(Type.Object({ type: Type.Literal('text'), text: Type.String() })),
    ...marked,
  }),
  thinking: Type.Object({ thinking: Type.String(), signature: optional(Type.String()) }),
  redacted_thinking: Type.Object({ data: Type.String() }),
  tool_use: Type.Object({
    id: Id,
    name: Name,
    input: Type.Object({}),
    ...marked,
  }),
  tool_result: Type.Object({
    tool_use_id: Id,
    content: optional(Content),
    is_error: optional(Type.Boolean()),
    ...marked,
  }),
};
