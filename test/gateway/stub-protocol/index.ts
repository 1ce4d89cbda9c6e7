/** A protocol of one text in and one text out, for the test that a protocol is one folder and one line. */

import { Type } from 'typebox';
import { GatewayError } from '../../../src/core/errors.ts';
import { assertValid } from '../../../src/core/json/check.ts';
import type { Json } from '../../../src/core/json/json.ts';
import { knownNames } from '../../../src/core/json/names.ts';
import type { CompleteOperation } from '../../../src/core/operation.ts';
import type { Protocol } from '../../../src/core/protocol.ts';

const Body = Type.Object({ model: Type.String(), ask: Type.String() });

const check = (body: Json): void => assertValid(Body, body);
const usageOf = ({ used }: Json) => used && { input: used.in, output: used.out };

const complete: CompleteOperation = {
  name: 'complete',
  summary: 'Say something',
  telemetryName: 'chat',
  routes: () => [
    {
      method: 'POST',
      path: '/v1/stub',
      match: (rest) => (rest.length === 0 ? {} : undefined),
      templates: [{ path: '/v1/stub' }],
    },
  ],
  schema: Body,
  example: { ask: 'Hello' },
  names: knownNames([Body]),
  checkLimits: check,
  check,
  conversation: ({ ask }) => String(ask),
  decodeRequest: ({ ask }) => ({
    stream: false,
    turns: [{ role: 'user', parts: [{ type: 'text', text: ask }] }],
    tools: [],
    dropped: [],
  }),
  encodeResponse: ({ id, candidates, usage }, { model }) => ({
    id,
    model,
    say: candidates[0]?.parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    ...(usage && { used: { in: usage.input, out: usage.output } }),
  }),
  streamEncoder: () => ({ encode: () => '', end: () => '' }),
  streamType: () => 'text/event-stream',
  encodeStreamError: ({ message }) => `data: ${JSON.stringify({ problem: message })}\n\n`,
  keepAlive: ': alive\n\n',

  upstreamPath: () => '/stub',
  outputOf: () => ({ answers: 1, thinking: 0 }),
  limitOutput: () => undefined,
  toolName: /^\w+$/,
  gatewayFields: [],
  requestModel: { paths: [['model']], required: true, spell: (model) => model },
  encodeRequest: ({ turns }, { model }) => ({
    body: {
      model,
      ask: turns.flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : ''))).join('\n'),
    },
    dropped: [],
  }),
  decodeResponse: (body) => ({
    id: body.id,
    model: body.model,
    created: 0,
    candidates: [{ parts: [{ type: 'text', text: body.say }], finish: { reason: 'stop', raw: 'said' } }],
    ...(body.used && { usage: usageOf(body) }),
  }),
  streamDecoder: () => ({ decode: () => [], end: () => [], usage: () => undefined }),

  modelPaths: [['model']],
  textPlaces: { after: ['"say"'], text: ['say'], calls: [] },
  usageMarks: ['"used"'],
  usageOf,
  factsOf: ({ id, model }) => ({ id, model, finish: 'said' }),
  isEnd: () => false,
  endMarks: ['"said"'],
  endIsLast: true,
};

export const stub: Protocol = {
  id: 'stub',
  apiType: 'stubs',
  operations: { complete },
  catalogRoutes: () => [],
  credentials: (headers) => [headers['x-stub-key']].flat().filter((key) => key !== undefined),
  encodeError: ({ message, status }) => ({ status, body: { problem: message } }),
  requestIdHeader: 'stub-request-id',
  parameterName: (parameter) => parameter,
  encodeModel: ({ id }) => ({ id }),
  encodeModels: (models) => ({ models }),
  forwardedHeaders: {},
  decodeError: (_status, body) => new GatewayError('upstream_error', String((body as Json)?.problem)),
  errorIn: ({ problem }) => (problem === undefined ? undefined : new GatewayError('upstream_error', String(problem))),
};
