/**
 * Whose state went to clients as the provider wrote it, in relayed answers. When it comes back in a request for another
 * provider of the same protocol, it is sealed, so that it is taken out there. Bounded, in memory only.
 */

import { createHash } from 'node:crypto';
import { isObject, type Json } from '../../core/json/json.ts';
import { wrap } from '../../core/opaque.ts';
import type { Operation } from '../../core/operation.ts';

export interface StateOwners {
  /** Learns from an answer, or from a part of one, that `origin` sent. */
  recordOwner(body: Json, operation: Pick<Operation, 'state'>, origin: string): void;
  /** Seals, in place, what is known to be another's than `origin`. */
  wrapForeignState(body: Json, operation: Pick<Operation, 'state'>, origin: string): void;
}

/** Some 10 MB of memory; the oldest are forgotten first. */
const MOST = 100_000;

export function createStateOwners(most = MOST): StateOwners {
  const owners = new Map<string, string>();

  return {
    recordOwner(body, { state }, origin) {
      visit(body, state?.fields ?? [], (value) => {
        const key = digest(value);
        owners.delete(key);
        owners.set(key, origin);
        const [oldest] = owners.size > most ? owners.keys() : [];
        if (oldest !== undefined) owners.delete(oldest);
        return value;
      });
    },
    wrapForeignState(body, { state }, origin) {
      if (owners.size === 0 || !state) return;
      visit(body, state.fields, (value) => {
        const owner = owners.get(digest(value));
        return owner === undefined || owner === origin ? value : wrap({ kind: 'signature', value, origin: owner });
      });
    },
  };
}

/** Puts what `change` gives in the place of every text that stands under one of the names, at any depth. */
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
