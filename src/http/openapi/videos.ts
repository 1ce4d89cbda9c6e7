/** Descriptions of the video routes and of the webhook. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { TERMINAL_STATUSES, VIDEO_STATUSES } from '../../records/video-task.ts';
import { videoSchema } from '../../videos/request-schema.ts';
import { CREATED_PARAMETERS } from '../created-span.ts';
import { countedList, totalMembers } from '../list-total.ts';
import type { RouteDescription } from '../route-table.ts';
import { type ApiOperation, anyObject, FORMAT, JSON_TYPE, type Named, type Parameter } from './operation.ts';

const optional = Type.Optional;

/** Unix seconds. */
const Moment = Type.Integer();

const VIDEO = {
  name: 'Video',
  schema: Type.Object({
    id: Type.String({ format: 'uuid' }),
    object: Type.Literal('video'),
    status: Type.Enum(VIDEO_STATUSES),
    model: Type.String(),
    prompt: optional(Type.String()),
    unsigned_urls: Type.Array(Type.String()),
    mirror_urls: Type.Array(Type.String()),
    usage: optional(Type.Object({ video_seconds: Type.Number(), video_cost: Type.String(), cost: Type.Number() })),
    created_at: Moment,
    updated_at: Moment,
    polling_url: Type.String(),
    progress: optional(Type.Integer({ minimum: 0, maximum: 100 })),
    seconds: optional(Type.String({ description: 'Length that was asked for.' })),
    size: optional(Type.String()),
    resolution: optional(Type.String()),
    aspect_ratio: optional(Type.String()),
    seed: optional(Type.Integer()),
    completed_at: optional(Moment),
    expires_at: optional(Moment),
    error: optional(Type.String()),
    error_code: optional(Type.String()),
    cancel_requested: optional(Type.Boolean()),
    metadata: optional(Type.Record(Type.String(), Type.String())),
  }),
};

const operatorsVideo = {
  ...VIDEO.schema.properties,
  key: Type.String({ description: 'Hash of the key.' }),
  key_name: Type.Union([Type.String(), Type.Null()]),
};
const moment = Type.Union([Type.String({ format: 'date-time' }), Type.Null()]);
const submission = Type.Object({
  provider: Type.String(),
  state: Type.String(),
  created_at: moment,
  sent_at: moment,
  accepted_at: moment,
  reference: Type.Union([Type.String(), Type.Null()], { description: 'Id of the task at its provider.' }),
});

/** Responses about the tasks of all keys. */
export const OPERATORS_VIDEOS = {
  list: countedList(Type.Object(operatorsVideo)),
  one: Type.Object({ data: Type.Object(operatorsVideo) }),
  detail: Type.Object({ data: Type.Object({ ...operatorsVideo, submission: Type.Union([submission, Type.Null()]) }) }),
  deleted: Type.Object({
    data: Type.Object({ id: Type.String(), object: Type.Literal('video.deleted'), deleted: Type.Literal(true) }),
  }),
};

export const WEBHOOK: Named = {
  name: 'VideoEvent',
  schema: Type.Object({
    event: Type.Enum(TERMINAL_STATUSES.map((status) => `video.generation.${status}`)),
    id: Type.String({ format: 'uuid', description: 'Of the task.' }),
    created_at: Moment,
    data: VIDEO.schema,
  }),
};

const DELIVERIES: Named = {
  name: 'WebhookDeliveries',
  schema: Type.Object({ object: Type.Literal('list'), data: Type.Array(anyObject) }),
};

const query = (name: string, schema: TSchema, description: string): Parameter => ({ name, schema, description });
const INDEX = query('index', Type.Integer({ minimum: 0 }), 'Which video of the task.');
const VARIANT = query('variant', Type.Literal('video'), 'Of OpenAI; there is no other.');

function json(description: string, schema: Named | TSchema, status = 200): ApiOperation['response'] {
  return { status, description, type: JSON_TYPE, schema };
}

export const FILM: ApiOperation['response'] = {
  status: 200,
  description: 'The bytes.',
  type: 'video/mp4',
  schema: Type.String(),
  ranges: true,
};

const PICTURE: ApiOperation['response'] = { ...FILM, type: 'image/*' };
const SIGNATURE = ['exp', 'kid', 'sig'].map((name) => query(name, Type.String(), 'Part of the signature.'));

/** By the last segment of the route's name. */
export const VIDEO_DESCRIPTIONS = {
  create: {
    summary: 'Create a video task',
    body: { types: [JSON_TYPE, 'multipart/form-data'], schema: { name: 'VideoRequest', schema: videoSchema } },
    headers: [query('Idempotency-Key', Type.String({ maxLength: 255 }), 'Makes one task of requests that repeat it.')],
    response: json('The task, queued.', VIDEO, 202),
  },
  list: {
    summary: 'List tasks',
    query: [
      query('limit', Type.Integer({ minimum: 1, maximum: 100 }), 'Tasks on a page; 20 if absent.'),
      query('order', Type.Enum(['asc', 'desc']), 'By creation; the newest first if absent.'),
      query('after', Type.String({ format: 'uuid' }), 'The last task of the page before.'),
      query('status', Type.Enum(VIDEO_STATUSES), 'Only tasks of this status.'),
      query('model', Type.String(), 'Only tasks of this model.'),
      query(
        'search',
        Type.String(),
        'Only tasks with this text in id, model, or the first 500 characters of the prompt.',
      ),
      ...CREATED_PARAMETERS,
      query('total', Type.Boolean(), 'Count them, too.'),
      FORMAT,
    ],
    response: json(
      'A page of tasks.',
      Type.Object({
        object: Type.Literal('list'),
        data: Type.Array(anyObject),
        first_id: optional(Type.String()),
        last_id: optional(Type.String()),
        has_more: Type.Boolean(),
        ...totalMembers,
      }),
    ),
  },
  models: { summary: 'List video models with their capabilities', response: json('The models.', anyObject) },
  get: { summary: 'Get a task', response: json('The task.', VIDEO) },
  delete: {
    summary: 'Delete a finished task and its videos',
    response: json('The id of the deleted task.', anyObject),
  },
  cancel: {
    summary: 'Cancel a task',
    body: {
      types: [JSON_TYPE],
      schema: { name: 'VideoCancellation', schema: Type.Object({ abandon: optional(Type.Boolean()) }) },
      optional: true,
    },
    response: json('The task.', VIDEO),
  },
  content: { summary: 'Get a finished video', query: [INDEX, VARIANT], response: FILM },
  file: { summary: 'Get a finished video by its signed address', query: SIGNATURE, response: FILM },
  picture: { summary: 'Get a picture of an answer by its signed address', query: SIGNATURE, response: PICTURE },
  deliveries: {
    summary: 'Get the delivery log of the webhook of a task',
    response: json('The delivery log.', DELIVERIES),
  },
  replay: { summary: 'Send the webhook of a task again', response: json('The delivery log.', DELIVERIES, 202) },
} satisfies Record<string, Omit<RouteDescription, 'id' | 'tag'>>;

export type VideoAction = keyof typeof VIDEO_DESCRIPTIONS;
