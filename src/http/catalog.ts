/** The public model lists: every protocol's shape, paging, and 304 for who has the list already. */

import { createHash } from 'node:crypto';
import type { Catalog } from '../catalog/catalog.ts';
import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import type { CatalogQuery } from '../core/protocol.ts';
import type { RequestContext } from './request-context.ts';

export function answerCatalog(
  { protocol, request, send }: RequestContext,
  asked: CatalogQuery,
  catalog: Catalog,
): unknown {
  const { body, etag } = remembered(catalog, `${protocol.id} ${JSON.stringify(asked)}`, () => answerOf(asked));
  const headers = {
    'content-type': 'application/json',
    etag,
    'cache-control': 'public, max-age=0, must-revalidate',
  };
  if (matches(request.headers['if-none-match'], etag)) return send({ status: 304, headers });
  return send({ headers, body });

  function answerOf(query: CatalogQuery): Json {
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

  function listModels({ provider, page }: Extract<CatalogQuery, { type: 'list-models' }>): Json {
    const models = provider === undefined ? catalog.all() : catalog.ofProvider(provider);
    if (!models)
      throw new GatewayError('model_not_found', `There is no provider "${provider}".`, { param: 'provider' });
    const { models: shown, more } = catalog.page(models, page);
    return protocol.encodeModels(
      shown.map((model) => protocol.encodeModel(model)),
      { more, total: models.length, provider, limit: page.limit },
    );
  }
}

interface Remembered {
  body: Buffer;
  etag: string;
}

/** Lists are asked for far more often than they change. */
const memory = new WeakMap<Catalog, Map<string, Remembered>>();
const MEMORY_ENTRIES = 100;

function remembered(catalog: Catalog, question: string, answer: () => Json): Remembered {
  const answers = memory.get(catalog) ?? new Map<string, Remembered>();
  memory.set(catalog, answers);
  const known = answers.get(question);
  if (known) return known;
  const body = Buffer.from(JSON.stringify(answer()));
  const entry = { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"` };
  if (answers.size < MEMORY_ENTRIES) answers.set(question, entry);
  return entry;
}

function matches(header: string | undefined, etag: string): boolean {
  const tags = header?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
  return tags.includes(etag) || tags.includes('*');
}
