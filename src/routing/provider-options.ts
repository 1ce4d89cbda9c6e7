/** Provider options: extra body fields that a client sets for one provider. */

import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import { checkNames, fold } from '../core/json/names.ts';
import { refuseModelMembers } from '../core/model-members.ts';
import { upstreamProtocolOf } from '../protocols/index.ts';
import type { Endpoint } from './endpoint.ts';

/** Fields that would bypass key restrictions or change how the response is read. */
const RESERVED_FIELDS = ['model', 'models', 'stream', 'streamoptions'];

/** Throws `invalid_request` for reserved options, and `permission_denied` for those this key may not use. */
export function checkOptions({ options, provider, dialect }: Endpoint, isRestricted: boolean): void {
  if (!options) return;
  const path = pathOf(provider);
  const { names, reservedFields = [] } = upstreamProtocolOf(dialect.protocol).operations.complete;
  const reserved = [...RESERVED_FIELDS, ...reservedFields.map(fold)];
  checkNames(options, names, path);
  for (const name of Object.keys(options)) {
    if (reserved.includes(fold(name))) refuse(path, name);
  }
  if (isRestricted) refuseModelMembers(options, `${path}.`);
}

/** Adds the options to the body; returns whether there were any. Throws `invalid_request` for a field that is already set. */
export function addOptions(body: Json, { options, provider }: Endpoint): boolean {
  if (!options) return false;
  const present = new Set(Object.keys(body).map(fold));
  for (const [name, value] of Object.entries(options)) {
    if (present.has(fold(name))) refuse(pathOf(provider), name);
    body[name] = value;
  }
  return Object.keys(options).length > 0;
}

function pathOf({ id }: Endpoint['provider']): string {
  return `provider.options.${id}`;
}

function refuse(path: string, name: string): never {
  const param = `${path}.${name.slice(0, MAX_SHOWN_CHARACTERS)}`;
  throw new GatewayError('invalid_request', `${param} must be given in the request itself.`, { param });
}

const MAX_SHOWN_CHARACTERS = 100;
