/**
 * State owners: origins of raw state in relayed answers. When such state returns in a request for another
 * provider of the same protocol, it is wrapped, so that it is removed there. Bounded, in memory only.
 */

import { createHash } from 'node:crypto';
import { isObject, type Json } from '../../core/json/json.ts';
import { isEnvelope, wrap } from '../../core/opaque.ts';
import type { Operation } from '../../core/operation.ts';

export interface StateOwners {
  /** Whether any state is recorded. */
  hasOwners(): boolean;
  /** Records `origin` as the owner of the state in an answer or a part of one. */
  recordOwner(body: Json, operation: Pick<Operation, 'state'>, origin: string): void;
  /**
   * Wraps, in place, state with a known owner other than `origin`, and envelopes that `origin` made itself, being a gateway
   * too: they would be taken for those of this one.
   */
  wrapForeignState(body: Json, operation: Pick<Operation, 'state'>, origin: string): void;
}

/** Maximum number of recorded values, some 10 MB. The oldest are evicted first. */
const MAX_VALUES = 100_000;

export function createStateOwners(): StateOwners {
  const owners = new Map<string, string>();

  return {
    hasOwners: () => owners.size > 0,
    recordOwner(body, { state }, origin) {
      if (!state) return;
      visit(body, state.fields, (value) => {
        const key = digest(value);
        owners.delete(key);
        owners.set(key, origin);
        const [oldest] = owners.size > MAX_VALUES ? owners.keys() : [];
        if (oldest !== undefined) owners.delete(oldest);
        return value;
      });
    },
    wrapForeignState(body, { state }, origin) {
      if (owners.size === 0 || !state) return;
      visit(body, state.fields, (value) => {
        const owner = owners.get(digest(value));
        const isForeign = owner !== origin || isEnvelope(value);
        return owner !== undefined && isForeign ? wrap({ kind: 'signature', value, origin: owner }) : value;
      });
    },
  };
}

/** Replaces the strings in members with one of the names, at any depth, by the result of `change`. */
function visit(value: Json, names: readonly string[], change: (value: string) => string): void {
  if (Array.isArray(value)) for (const item of value) visit(item, names, change);
  else if (isObject(value)) {
    for (const [name, inner] of Object.entries(value)) {
      if (typeof inner === 'object') visit(inner, names, change);
      else if (typeof inner === 'string' && inner !== '' && names.includes(name)) {
        const changed = change(inner);
        if (changed !== inner) value[name] = changed;
      }
    }
  }
}

function digest(value: string): string {
  return createHash('sha256').update(value).digest('base64url').slice(0, 22);
}
