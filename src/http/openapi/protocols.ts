/** The routes of the three protocols, from what each says of itself. */

import { Type } from 'typebox';
import type { ClientRoute, Prefixes, Protocol, RouteDescription } from '../../core/protocol.ts';
import { type ApiOperation, anyObject, EVENTS, JSON_TYPE } from './operation.ts';

const SUMMARIES: Record<RouteDescription['action'], string> = {
  generate: 'Ask a model',
  count: 'Count the tokens of a request',
  'list-models': 'List models',
  'count-models': 'Count models',
  'get-model': 'Look at a model',
};

export function protocolOperations(protocols: readonly Protocol[], prefixes: Prefixes): ApiOperation[] {
  return protocols.flatMap((protocol) =>
    protocol
      .endpoints(prefixes)
      .flatMap((endpoint) => endpoint.operations.map((operation) => describe(protocol, endpoint, operation))),
  );
}

function describe(
  protocol: Protocol,
  { method }: ClientRoute,
  { path, action, streams }: RouteDescription,
): ApiOperation {
  const isCall = action === 'generate' || action === 'count';
  const schema = action === 'count' ? (protocol.schemas.count ?? protocol.schemas.generate) : protocol.schemas.generate;
  const name = `${capital(protocol.id)}${action === 'count' ? 'Count' : ''}Request`;
  return {
    ...{ method, path, id: idOf(method, path), tag: protocol.id, summary: `${SUMMARIES[action]} (${protocol.id})` },
    access: isCall ? 'key' : 'anyone',
    ...(isCall && { body: { types: [JSON_TYPE], schema: { name, schema } }, headers: CALL_HEADERS }),
    answer: {
      ...{ status: 200, description: 'As the protocol has it.', schema: anyObject },
      type: streams ? EVENTS : JSON_TYPE,
    },
    ...(action === 'generate' && !streams && 'stream' in schemaFields(schema) && { streamType: EVENTS }),
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
