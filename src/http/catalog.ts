/** Handler of the model lists: encoding in each protocol, paging, and 304 for an unchanged list. */

import type { Catalog } from '../catalog/catalog.ts';
import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import type { CatalogQuery } from '../core/protocol.ts';
import { createKeptBody, keptBody, sendKept } from './kept-body.ts';
import type { RequestContext } from './request-context.ts';

type ListQuery = Extract<CatalogQuery, { type: 'list-models' }>;

export function serveCatalog(context: RequestContext, asked: CatalogQuery, catalog: Catalog): Promise<void> {
  const { protocol } = context;
  const body = isWholeList(asked)
    ? keptBody(catalog, `${protocol.id} ${asked.provider ?? ''} ${asked.namesOnly ?? false}`, () => listModels(asked))
    : createKeptBody(answerTo(asked));
  return sendKept(context, body, { 'cache-control': 'public, max-age=0, must-revalidate' });

  function answerTo(query: CatalogQuery): Json {
    switch (query.type) {
      case 'get-model':
        return getModel(query);
      case 'count-models':
        return protocol.encodeModelCount?.(catalog.all().length);
      case 'list-models':
        return listModels(query);
    }
  }

  /** Others are small, and clients may ask for any number of them. */
  function isWholeList(query: CatalogQuery): query is ListQuery {
    if (query.type !== 'list-models' || Object.values(query.page).some((value) => value !== undefined)) return false;
    return query.provider === undefined || catalog.ofProvider(query.provider) !== undefined;
  }

  function getModel({ id, enveloped }: Extract<CatalogQuery, { type: 'get-model' }>): Json {
    const model = catalog.find(id);
    if (!model)
      throw new GatewayError('model_not_found', `There is no model "${id}".${similarTo(id)}`, { param: 'model' });
    const encoded = protocol.encodeModel(model);
    return enveloped ? { data: encoded } : encoded;
  }

  function similarTo(name: string): string {
    const similar = catalog.similar(name);
    return similar.length > 0 ? ` Similar are: ${similar.join(', ')}.` : '';
  }

  /** Clients ask for a model by the name that they use in requests. */
  function modelWithoutProvider(name = ''): Json {
    const model = catalog.find(name);
    if (model) return protocol.encodeModel(model);
    const message = `There is no provider and no model "${name}".${similarTo(name)}`;
    throw new GatewayError('model_not_found', message, { param: 'model' });
  }

  function listModels({ provider, page, namesOnly }: ListQuery): Json {
    const models = provider === undefined ? catalog.all() : catalog.ofProvider(provider);
    if (!models) return modelWithoutProvider(provider);
    const { models: shown, more } = catalog.page(models, page);
    return protocol.encodeModels(
      shown.map((model) => (namesOnly ? { id: model.id, name: model.name } : protocol.encodeModel(model))),
      { more, total: models.length, provider, limit: page.limit, namesOnly },
    );
  }
}
