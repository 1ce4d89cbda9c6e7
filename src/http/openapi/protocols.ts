/** Descriptions of the protocol routes, derived from their operations. */

import * as Type from 'typebox';
import type { ClientRoute, Operation, RouteTemplate } from '../../core/operation.ts';
import type { Protocol } from '../../core/protocol.ts';
import type { RouteDescription } from '../route-table.ts';
import { anyObject, EVENTS, JSON_TYPE, type Parameter } from './operation.ts';

/** Path template of a route, with its method. */
type Template = RouteTemplate & Pick<ClientRoute<unknown>, 'method'>;

export function describeOperation(
  protocol: Protocol,
  operation: Operation,
  { method, path, streams }: Template,
): RouteDescription {
  const { schema, summary } = operation;
  const part = operation.name === 'complete' ? '' : operation.name.split('-').map(capital).join('');
  const name = `${capital(protocol.id)}${part}Request`;
  return {
    id: idOf(method, path),
    tag: protocol.id,
    summary: `${summary} (${protocol.id})`,
    body: { types: [JSON_TYPE], schema: { name, schema } },
    ...(streams && { query: [ALT] }),
    headers: [...CALL_HEADERS, ...forwardedHeaders(protocol)],
    response: {
      status: 200,
      description: 'As the protocol has it.',
      schema: streams ? Type.Array(anyObject) : anyObject,
      type: JSON_TYPE,
    },
    ...((streams || 'stream' in schemaFields(schema)) && { streamType: EVENTS }),
  };
}

export function describeCatalog(protocol: Protocol, { method, path }: Template): RouteDescription {
  const isModel = path.endsWith('{model}');
  const isList = !isModel && !path.endsWith('/count');
  const summary = isModel ? 'Look at a model' : isList ? 'List models' : 'Count models';
  return {
    id: idOf(method, path),
    tag: protocol.id,
    summary: `${summary} (${protocol.id})`,
    ...(isList && protocol.pageParameters && { query: protocol.pageParameters }),
    response: { status: 200, description: 'As the protocol has it.', schema: anyObject, type: JSON_TYPE },
  };
}

const CALL_HEADERS = [
  {
    name: 'x-polygate-provider',
    description: 'Routing as JSON, for protocols whose body has no place for it.',
    schema: Type.String(),
  },
  {
    name: 'x-polygate-trace',
    description: 'true asks for the decision that was taken, in the header of the same name.',
    schema: Type.Boolean(),
  },
];

const ALT: Parameter = {
  name: 'alt',
  description: 'sse for an event stream; a JSON array that grows if absent.',
  schema: Type.Unsafe<string>({ type: 'string', enum: ['json', 'sse'] }),
};

/** Headers of the protocol that are sent on. */
function forwardedHeaders({ forwardedHeaders: names }: Protocol): Parameter[] {
  return Object.keys(names).map((name) => ({ name, description: 'As the protocol has it.', schema: Type.String() }));
}

function schemaFields(schema: object): object {
  return (schema as { properties?: object }).properties ?? {};
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `get_v1_models_provider`. */
function idOf(method: string, path: string): string {
  return `${method.toLowerCase()}${path.replace(/[^A-Za-z0-9]+/g, '_')}`.replace(/_$/, '');
}
