/** OpenAPI 3.1 document of the gateway, generated from its routes and request schemas. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { ERRORS } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import type { Route } from '../route-table.ts';
import { type ApiOperation, CSV_TYPE, FORMAT, isNamed, type Named, type Parameter } from './operation.ts';
import { WEBHOOK } from './videos.ts';

export interface DocumentOptions {
  version: string;
  operations: readonly ApiOperation[];
}

const DESCRIPTION =
  'A self-hosted gateway to models: chat completions, messages, generateContent and videos in front of any provider. ' +
  'What the bodies of the protocols mean is described by their inventors; what the gateway adds, by its own documents.';

/** One operation for each template of each route. */
export function operationsOfRoutes(routes: readonly DescribedRoute[]): ApiOperation[] {
  return routes.flatMap(({ method, templates, access, describe }) =>
    templates.map((template) => ({ method, path: template.path, access, ...describe(template) })),
  );
}

type DescribedRoute = Pick<Route, 'method' | 'templates' | 'access' | 'describe'>;

export function createDocument({ version, operations }: DocumentOptions): Json {
  const named = [WEBHOOK, ...operations.flatMap(namedOf)];
  return {
    openapi: '3.1.0',
    info: {
      title: 'Polygate',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name, ...TAGS[name] })),
    paths: pathsOf(operations),
    webhooks: { 'video.generation': { post: webhook() } },
    components: {
      schemas: Object.fromEntries([...named.map(({ name, schema }) => [name, plain(schema)]), ['Error', ERROR]]),
      securitySchemes: SCHEMES,
    },
  };
}

/** Descriptions of tags. */
const TAGS: Readonly<Record<string, { description: string }>> = {
  admin: {
    description:
      "On the listener of the admin API, at the configuration's admin.host and admin.port; for sessions also where ui.admin_on_public says so.",
  },
  ui: { description: 'Sessions of the dashboard.' },
};

function pathsOf(operations: readonly ApiOperation[]): Json {
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    paths[operation.path] ??= {};
    paths[operation.path][operation.method.toLowerCase()] = encode(operation);
  }
  return paths;
}

function encode(operation: ApiOperation): Json {
  const { id, summary, tag, access, body, query = [], response, streamType } = operation;
  const { status, description } = response;
  const content: Json = { [response.type]: { schema: reference(response.schema) } };
  if (streamType) content[streamType] = { schema: { type: 'string' } };
  if (query.some(({ name }) => name === FORMAT.name)) content[CSV_TYPE] = { schema: { type: 'string' } };
  return {
    operationId: id,
    summary,
    tags: [tag],
    security: SECURITY[access],
    ...parametersOf(operation),
    ...(body && {
      requestBody: {
        required: !body.optional,
        content: Object.fromEntries(body.types.map((type) => [type, { schema: reference(body.schema) }])),
      },
    }),
    responses: {
      [status]: { description, content },
      ...(response.ranges && { 206: { description: 'The range that was asked for.', content } }),
      default: FAILURE,
    },
  };
}

function parametersOf({ path, query = [], headers = [], response }: ApiOperation): Json {
  const variable = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const optional = (place: string) => (parameter: Parameter) => ({
    name: parameter.name,
    in: place,
    description: parameter.description,
    schema: plain(parameter.schema),
  });
  const allHeaders = response.ranges ? [...headers, RANGE] : headers;
  const parameters = [...variable, ...query.map(optional('query')), ...allHeaders.map(optional('header'))];
  return parameters.length > 0 ? { parameters } : {};
}

const RANGE: Parameter = { name: 'Range', description: 'Bytes to send, as bytes=0-1023.', schema: Type.String() };

function namedOf({ body, response }: ApiOperation): Named[] {
  return [...(body ? [body.schema] : []), ...(isNamed(response.schema) ? [response.schema] : [])];
}

function reference(schema: Named | TSchema): Json {
  return isNamed(schema) ? { $ref: `#/components/schemas/${schema.name}` } : plain(schema);
}

/** Schema without the keywords of the schema check, which are not JSON Schema. */
function plain(schema: TSchema): Json {
  return JSON.parse(JSON.stringify(schema, (name, value) => (name === 'errorMessage' ? undefined : value)));
}

function webhook(): Json {
  return {
    summary: 'The end of a video task, to its callback_url',
    description: 'Signed; sent again until it is answered with a 2xx.',
    requestBody: { required: true, content: { 'application/json': { schema: reference(WEBHOOK) } } },
    responses: { '2XX': { description: 'Taken.' }, default: { description: 'Not taken; it comes again.' } },
  };
}

const SECURITY: Record<ApiOperation['access'], Json> = {
  anyone: [],
  key: [{ bearer: [] }, { apiKey: [] }, { googleApiKey: [] }],
  admin: [{ adminToken: [] }, { session: [] }],
  session: [{ session: [] }],
};

const SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API key; on every route that needs one.' },
  apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The same, on messages.' },
  googleApiKey: { type: 'apiKey', in: 'header', name: 'x-goog-api-key', description: 'The same, on generateContent.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'polygate',
    description: 'A session of the dashboard, whose role decides.',
  },
  adminToken: { type: 'http', scheme: 'bearer', description: "The configuration's admin.token." },
};

const ERROR = {
  type: 'object',
  description: 'The shape of the protocol that is spoken; the code is in the header x-polygate-error in all of them.',
  properties: { error: { type: 'object', properties: { message: { type: 'string' } } } },
};

const FAILURE = {
  description: 'It failed.',
  headers: { 'x-polygate-error': { schema: { type: 'string', enum: Object.keys(ERRORS) } } },
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
};
