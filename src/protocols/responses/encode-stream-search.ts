/** Searches of the web that the provider ran, as items of an answer. */

import type { Json } from '../../core/json/json.ts';
import type { WebSearch } from '../../core/native.ts';
import type { Emit, ItemPlace } from './encode-stream-message.ts';

export interface SearchWriter {
  /** Begins a search, ends it, or both. */
  tell(search: WebSearch): void;
  /** Ends the searches that are still open. */
  close(): void;
}

interface SearchItems {
  emit: Emit;
  /** The place of another item; open items before it are closed. */
  nextPlace(): ItemPlace;
  add(place: ItemPlace, item: Json): void;
  done(place: ItemPlace, item: Json): void;
  includesSources: boolean;
}

export function createSearchWriter({ emit, nextPlace, add, done, includesSources }: SearchItems): SearchWriter {
  let open: { id: string; place: ItemPlace; action: Json } | undefined;
  /** Searches that began while another one was open, by id, with their results: one item is written after another. */
  const waiting = new Map<string, { begun: WebSearch; found?: WebSearch }>();

  function begin({ id, queries = [] }: WebSearch): void {
    const place = nextPlace();
    const action = { type: 'search', query: queries[0] ?? '', queries };
    open = { id, place, action };
    const about = { item_id: place.id, output_index: place.index };
    add(place, itemOf(place, action, 'in_progress'));
    emit('web_search_call.in_progress', about);
    emit('web_search_call.searching', about);
  }

  function end({ sources = [], failed = false }: Pick<WebSearch, 'sources' | 'failed'>): void {
    if (!open) return;
    const { place, action } = open;
    open = undefined;
    emit('web_search_call.completed', { item_id: place.id, output_index: place.index });
    const found = includesSources && { sources: sources.map((url) => ({ type: 'url', url })) };
    done(place, itemOf(place, { ...action, ...found }, failed ? 'failed' : 'completed'));
  }

  /** Tells the searches that waited, up to one that has not ended. */
  function advance(): void {
    for (const [id, { begun, found }] of waiting) {
      if (open) return;
      waiting.delete(id);
      begin(begun);
      if (found) end(found);
    }
  }

  function close(): void {
    end({});
    for (const { begun, found = {} } of waiting.values()) {
      begin(begun);
      end(found);
    }
    waiting.clear();
  }

  return {
    tell(search) {
      const { id, queries, sources } = search;
      if (queries && open && !waiting.has(id)) waiting.set(id, { begun: search });
      else if (queries) {
        close();
        begin(search);
      }
      if (!sources) return;
      const later = open?.id === id ? undefined : waiting.get(id);
      if (later) later.found = search;
      if (open?.id === id) end(search);
      advance();
    },
    close,
  };
}

function itemOf({ id }: ItemPlace, action: Json, status: string): Json {
  return { id, type: 'web_search_call', status, action };
}
