/** The routes of the protocols in the description of the API, from what each operation says of itself. */

import { Type } from 'typebox';
import {
  type ClientRoute,
  type Operation,
  operationsOf,
  type Prefixes,
  type RouteTemplate,
} from '../../core/operation.ts';
import type { Protocol } from '../../core/protocol.ts';
import { type ApiOperation, anyObject, EVENTS, JSON_TYPE } from './operation.ts';

export function protocolOperations(protocols: readonly Protocol[], prefixes: Prefixes): ApiOperation[] {
  return protocols.flatMap((protocol) => [
    ...operationsOf(protocol).flatMap((operation) =>
      operation
        .routes(prefixes)
        .flatMap(({ method, templates }) =>
          templates.map((template) => describeOperation({ protocol, operation, method }, template)),
        ),
    ),
    ...protocol
      .catalogRoutes(prefixes)
      .flatMap(({ method, templates }) => templates.map((template) => describeCatalog(protocol, method, template))),
  ]);
}

interface Described {
  protocol: Protocol;
  operation: Operation;
  method: ClientRoute<unknown>['method'];
}

function describeOperation({ protocol, operation, method }: Described, { path, streams }: RouteTemplate): ApiOperation {
  const { schema, summary } = operation;
  const part = operation.name === 'complete' ? '' : operation.name.split('-').map(capital).join('');
  const name = `${capital(protocol.id)}${part}Request`;
  return {
    method,
    path,
    id: idOf(method, path),
    tag: protocol.id,
    summary: `${summary} (${protocol.id})`,
    access: 'key',
    body: { types: [JSON_TYPE], schema: { name, schema } },
    headers: CALL_HEADERS,
    answer: {
      status: 200,
      description: 'As the protocol has it.',
      schema: anyObject,
      type: streams ? EVENTS : JSON_TYPE,
    },
    ...(!streams && 'stream' in schemaFields(schema) && { streamType: EVENTS }),
  };
}

function describeCatalog(
  protocol: Protocol,
  method: ClientRoute<unknown>['method'],
  { path }: RouteTemplate,
): ApiOperation {
  const summary = path.endsWith('{model}') ? 'Look at a model' : 'List models';
  return {
    method,
    path,
    id: idOf(method, path),
    tag: protocol.id,
    summary: `${summary} (${protocol.id})`,
    access: 'anyone',
    answer: { status: 200, description: 'As the protocol has it.', schema: anyObject, type: JSON_TYPE },
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
