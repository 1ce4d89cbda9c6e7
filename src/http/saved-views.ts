/** Saved views of the dashboard: those that operators share, and those of a key. */

import { GatewayError } from '../core/errors.ts';
import { assertValid } from '../core/json/check.ts';
import type { Json } from '../core/json/json.ts';
import type { SavedView } from '../store/operations/dashboard.ts';
import type { Store } from '../store/store.ts';
import { type ViewBody, viewBody } from './admin/schema.ts';

export interface SavedViewOptions {
  store: Pick<Store, 'call'>;
  /** Unix milliseconds. */
  now(): number;
}

export interface SavedViews {
  /** Views of an owner: the id of a key, or `OPERATORS`. */
  list(owner: string): Promise<Json>;
  /** Throws `not_found`. */
  get(owner: string, id: string): Promise<Json>;
  /** Makes or replaces one. Throws `invalid_request`. */
  put(owner: string, id: string, body: Json): Promise<Json>;
  /** Throws `not_found`. */
  remove(owner: string, id: string): Promise<Json>;
}

/** Owner of the views that operators share; ids of keys differ. */
export const OPERATORS = 'operators';

const ID = /^[A-Za-z0-9_-]{1,64}$/;

export function createSavedViews({ store, now }: SavedViewOptions): SavedViews {
  return {
    list: async (owner) => ({ data: (await store.call('listSavedViews', { owner })).map(encodeView) }),

    async get(owner, id) {
      const view = ID.test(id) ? await store.call('readSavedView', { owner, id }) : undefined;
      if (!view) throw notFound();
      return { data: encodeView(view) };
    },

    async put(owner, id, body) {
      if (!ID.test(id)) {
        throw new GatewayError('invalid_request', 'id must be 1 to 64 letters, digits, - and _.', { param: 'id' });
      }
      assertValid(viewBody, body);
      const view: SavedView = { ...(body as ViewBody), id, updatedAt: now() };
      await store.call('putSavedView', { owner, view });
      return { data: encodeView(view) };
    },

    async remove(owner, id) {
      if (ID.test(id) && (await store.call('removeSavedView', { owner, id }))) return { deleted: true };
      throw notFound();
    },
  };
}

function encodeView({ id, name, address, updatedAt }: SavedView): Json {
  return { id, name, address, updated_at: new Date(updatedAt).toISOString() };
}

function notFound(): GatewayError {
  return new GatewayError('not_found', 'There is no saved view with this id.', { param: 'id' });
}
