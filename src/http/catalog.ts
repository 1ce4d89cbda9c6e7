/** Model list routes: encoding in each protocol, paging, and 304 for an unchanged list. */

import { createHash } from 'node:crypto';
import type { Catalog } from '../catalog/catalog.ts';
import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import type { CatalogQuery } from '../core/protocol.ts';
import type { RequestContext } from './request-context.ts';

export function serveCatalog(context: RequestContext, asked: CatalogQuery, catalog: Catalog): void {
  const { protocol, request } = context;
  const { body, etag } = cached(catalog, `${protocol.id} ${JSON.stringify(asked)}`, () => listOf(asked));
  const headers = {
    'content-type': 'application/json',
    etag,
    'cache-control': 'public, max-age=0, must-revalidate',
  };
  if (matches(request.headers['if-none-match'], etag)) context.send({ status: 304, headers });
  else context.send({ headers, body });

  function listOf(query: CatalogQuery): Json {
    switch (query.type) {
      case 'get-model':
        return getModel(query);
      case 'count-models':
        return protocol.encodeModelCount?.(catalog.all().length);
      case 'list-models':
        return listModels(query);
    }
  }

  function getModel({ id, enveloped }: Extract<CatalogQuery, { type: 'get-model' }>): Json {
    const model = catalog.find(id);
    if (!model) throw new GatewayError('model_not_found', `There is no model "${id}".`, { param: 'model' });
    const encoded = protocol.encodeModel(model);
    return enveloped ? { data: encoded } : encoded;
  }

  /** Clients ask for a model by the name that they use in requests. */
  function modelWithoutProvider(name = ''): Json {
    const model = catalog.find(name);
    if (model) return protocol.encodeModel(model);
    const message = `There is no provider and no model "${name}".`;
    throw new GatewayError('model_not_found', message, { param: 'model' });
  }

  function listModels({ provider, page }: Extract<CatalogQuery, { type: 'list-models' }>): Json {
    const models = provider === undefined ? catalog.all() : catalog.ofProvider(provider);
    if (!models) return modelWithoutProvider(provider);
    const { models: shown, more } = catalog.page(models, page);
    return protocol.encodeModels(
      shown.map((model) => protocol.encodeModel(model)),
      { more, total: models.length, provider, limit: page.limit },
    );
  }
}

interface CachedList {
  body: Buffer;
  etag: string;
}

/** Encoded lists by query; lists are requested far more often than they change. */
const cache = new WeakMap<Catalog, Map<string, CachedList>>();
const MAX_CACHED_LISTS = 100;

function cached(catalog: Catalog, question: string, list: () => Json): CachedList {
  const lists = cache.get(catalog) ?? new Map<string, CachedList>();
  cache.set(catalog, lists);
  const known = lists.get(question);
  if (known) return known;
  const body = Buffer.from(JSON.stringify(list()));
  const entry = { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"` };
  if (lists.size < MAX_CACHED_LISTS) lists.set(question, entry);
  return entry;
}

function matches(header: string | undefined, etag: string): boolean {
  const tags = header?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
  return tags.includes(etag) || tags.includes('*');
}
