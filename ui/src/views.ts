/** Saved views: names for addresses of pages, kept by the gateway, or by this browser where the gateway does not take them. */

import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { ApiError, api } from './api.ts';
import { type LocalView, readLocalViews, removeLocalView, saveLocalView, useLocalViews } from './local-views.ts';
import { useSession } from './session.ts';

export interface SavedView extends LocalView {
  /** Absent where only this browser has it. */
  id?: string;
  updated_at?: string;
}

export const MAX_NAME_LENGTH = 60;
/** Code of the error of a view that may not replace the one of its name. */
export const NAME_TAKEN = 'name_taken';
/** Pages that have views, by whether they are for holders of keys, too. */
export const VIEW_PAGES: Record<string, { name: string; isForKeys: boolean }> = {
  '/requests': { name: 'Requests', isForKeys: true },
  '/use': { name: 'Use and cost', isForKeys: false },
};
const ID_BYTES = 16;
const REFUSED = 403;

/** The session whose views of this browser were moved, as far as the gateway took them. */
let movedFor: string | null | undefined;

export function useViews() {
  const { session, isOperator } = useSession();
  const queries = useQueryClient();
  const local = useLocalViews();
  const asked = useQuery(savedViews(isOperator));
  const kept = asked.data;
  const isViewer = session?.role === 'viewer';
  const refresh = () => queries.invalidateQueries({ queryKey: ['views'] });

  useEffect(() => {
    if (!session || isViewer || !kept || movedFor === session.id) return;
    movedFor = session.id;
    void moveViews(isOperator, kept).then((hasMoved) => (hasMoved ? refresh() : undefined));
  });

  const shown = local.filter(({ address }) => isOperator || VIEW_PAGES[pageOf(address)]?.isForKeys);
  return {
    asked,
    views: [...(kept ?? []), ...shown] as SavedView[],
    /** Views of the gateway are for this session to read only. */
    isViewer,
    /** One of the same name and page is replaced only if it may be. Throws `ApiError`. */
    async save(view: LocalView, mayReplace: boolean): Promise<void> {
      // The list may still be on its way.
      const known = isViewer ? undefined : (await queries.ensureQueryData(savedViews(isOperator))).find(isLike(view));
      if (!mayReplace && (known ?? local.find(isLike(view)))) {
        const message = 'A view of this page has this name. Replace it, or choose another name.';
        throw new ApiError(message, { status: 0, code: NAME_TAKEN });
      }
      if (isViewer) return saveLocalView(view);
      try {
        await put(isOperator, { ...view, id: known?.id ?? newId() });
      } catch (error) {
        // A key that may only read.
        if (!(error instanceof ApiError && error.status === REFUSED)) throw error;
        return saveLocalView(view);
      }
      removeLocalView(view);
      await refresh();
    },
    /** Throws `ApiError`. */
    async remove({ id, ...view }: SavedView): Promise<void> {
      if (id === undefined) return removeLocalView(view);
      await remove(isOperator, id);
      await refresh();
    },
  };
}

export const pageOf = (address: string) => address.split('?', 1)[0] ?? '';

/** Whether another view has the name and the page of this one. */
const isLike = (one: LocalView) => (other: LocalView) =>
  one.name === other.name && pageOf(one.address) === pageOf(other.address);

function savedViews(isOperator: boolean) {
  return queryOptions({
    queryKey: ['views', isOperator],
    queryFn: async ({ signal }) => {
      const { data } = isOperator
        ? await api.GET('/admin/v1/views', { signal })
        : await api.GET('/v1/self/views', { signal });
      return (data as { data: Required<SavedView>[] }).data;
    },
  });
}

/** Path of the calls for the views that the gateway keeps, or for one of them. */
export const pathOfViews = (isOperator: boolean, id?: string): string =>
  `${isOperator ? '/admin/v1' : '/v1/self'}/views${id === undefined ? '' : `/${id}`}`;

async function put(isOperator: boolean, { id, name, address }: LocalView & { id: string }): Promise<void> {
  const asked = { params: { path: { id } }, body: { name, address } };
  await (isOperator ? api.PUT('/admin/v1/views/{id}', asked) : api.PUT('/v1/self/views/{id}', asked));
}

async function remove(isOperator: boolean, id: string): Promise<void> {
  const params = { path: { id } };
  await (isOperator ? api.DELETE('/admin/v1/views/{id}', { params }) : api.DELETE('/v1/self/views/{id}', { params }));
}

/**
 * Gives the views of this browser to the gateway, each of which leaves the browser when it is kept there; the others stay.
 * Whether there were any.
 */
async function moveViews(isOperator: boolean, kept: readonly SavedView[]): Promise<boolean> {
  const own = readLocalViews().filter(({ address }) => {
    const page = VIEW_PAGES[pageOf(address)];
    return page && (isOperator || page.isForKeys);
  });
  const known = [...kept];
  for (const view of own) {
    const moved = { ...view, name: freeName(view, known), id: newId() };
    if (!known.some((other) => isLike(view)(other) && other.address === view.address)) {
      try {
        await put(isOperator, moved);
      } catch {
        continue;
      }
      known.push(moved);
    }
    removeLocalView(view);
  }
  return own.length > 0;
}

/** The name, with a number behind it where its page has another view of the name. */
function freeName(view: LocalView, known: readonly LocalView[]): string {
  let { name } = view;
  for (let number = 2; known.some(isLike({ ...view, name })); number++) {
    const end = ` ${number}`;
    name = view.name.slice(0, MAX_NAME_LENGTH - end.length) + end;
  }
  return name;
}

/** Also where the page is not at https, which `randomUUID` needs. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(ID_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
