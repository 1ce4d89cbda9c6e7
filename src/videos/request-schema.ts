/** Schema of a creation request: OpenRouter's field names and OpenAI's. */

import type { Static } from 'typebox';
import * as Type from 'typebox';
import { knownNames } from '../core/json/names.ts';

const MAX_PROMPT_CHARACTERS = 32_000;
const MAX_REFERENCES = 20;

/** A URL, or an object with `url`. */
const link = Type.Union([Type.String({ minLength: 1 }), Type.Object({ url: Type.String({ minLength: 1 }) })]);

const frameImage = Type.Object({
  type: Type.Optional(Type.Literal('image_url')),
  image_url: link,
  frame_type: Type.Union([Type.Literal('first_frame'), Type.Literal('last_frame')]),
});

const reference = Type.Union([
  Type.Object({ type: Type.Literal('image_url'), image_url: link }),
  Type.Object({ type: Type.Literal('video_url'), video_url: link }),
  Type.Object({ type: Type.Literal('audio_url'), audio_url: link }),
]);

const slugs = Type.Array(Type.String({ minLength: 1 }), { maxItems: 50 });

const provider = Type.Object(
  {
    only: Type.Optional(slugs),
    order: Type.Optional(slugs),
    allow_fallbacks: Type.Optional(Type.Boolean()),
    options: Type.Optional(Type.Record(Type.String(), Type.Object({}))),
  },
  { additionalProperties: false },
);

const metadata = Type.Record(Type.String(), Type.String({ maxLength: 512 }), { maxProperties: 16 });

export const videoSchema = Type.Object({
  model: Type.String({ minLength: 1, maxLength: 300 }),
  prompt: Type.Optional(Type.String({ maxLength: MAX_PROMPT_CHARACTERS })),
  duration: Type.Optional(Type.Integer({ minimum: 1 })),
  seconds: Type.Optional(
    Type.Union([
      Type.Integer({ minimum: 1 }),
      Type.String({ pattern: '^[1-9]\\d{0,5}$', errorMessage: 'must be a number of whole seconds, e.g. "8"' }),
    ]),
  ),
  resolution: Type.Optional(Type.String({ minLength: 1 })),
  aspect_ratio: Type.Optional(
    Type.String({ pattern: '^\\d{1,3}:\\d{1,3}$|^[a-z]+$', errorMessage: 'must be a ratio such as 16:9' }),
  ),
  size: Type.Optional(
    Type.String({ pattern: '^[1-9]\\d{1,4}x[1-9]\\d{1,4}$', errorMessage: 'must be <width>x<height>, e.g. 1280x720' }),
  ),
  frame_images: Type.Optional(Type.Array(frameImage, { maxItems: 2 })),
  input_references: Type.Optional(Type.Array(reference, { maxItems: MAX_REFERENCES })),
  input_reference: Type.Optional(
    Type.Union([
      Type.String({ minLength: 1 }),
      Type.Object({ image_url: Type.Optional(link), file_id: Type.Optional(Type.String()) }),
    ]),
  ),
  generate_audio: Type.Optional(Type.Boolean()),
  seed: Type.Optional(Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })),
  negative_prompt: Type.Optional(Type.String({ maxLength: MAX_PROMPT_CHARACTERS })),
  n: Type.Optional(Type.Integer({ minimum: 1 })),
  callback_url: Type.Optional(Type.String()),
  provider: Type.Optional(provider),
  execution_expires_after: Type.Optional(Type.Integer({ minimum: 60, maximum: 172_800 })),
  metadata: Type.Optional(metadata),
  user: Type.Optional(Type.String({ maxLength: 512 })),
});

/** Field names allowed in a creation request. */
export const videoNames = knownNames([videoSchema]);

export type VideoBody = Static<typeof videoSchema>;
export type Link = Static<typeof link>;
