/** The public model lists: every protocol's shape, paging, and 304 for who has the list already. */

import { createHash } from 'node:crypto';
import type { Catalog } from '../catalog/catalog.ts';
import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import type { Action } from '../core/protocol.ts';
import type { Exchange } from './app.ts';

type CatalogAction = Extract<Action, { type: 'list-models' | 'get-model' }>;

export function answerCatalog(
  { protocol, request, reply, common }: Exchange,
  action: CatalogAction,
  catalog: Catalog,
): unknown {
  const body = Buffer.from(JSON.stringify(action.type === 'get-model' ? getModel() : listModels()));
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;
  reply.headers({
    ...common,
    'content-type': 'application/json',
    etag,
    'cache-control': 'public, max-age=0, must-revalidate',
  });
  if (matches(request.headers['if-none-match'], etag)) return reply.code(304).send();
  return reply.send(body);

  function getModel(): Json {
    const { id } = action as Extract<CatalogAction, { type: 'get-model' }>;
    const model = catalog.find(id);
    if (!model) throw new GatewayError('model_not_found', `There is no model "${id}".`, { param: 'model' });
    return protocol.encodeModel(model);
  }

  function listModels(): Json {
    const { provider, page } = action as Extract<CatalogAction, { type: 'list-models' }>;
    const models = provider === undefined ? catalog.all() : catalog.ofProvider(provider);
    if (!models)
      throw new GatewayError('model_not_found', `There is no provider "${provider}".`, { param: 'provider' });
    const { models: shown, more } = catalog.page(models, page);
    return protocol.encodeModels(
      shown.map((model) => protocol.encodeModel(model)),
      { more },
    );
  }
}

function matches(header: string | undefined, etag: string): boolean {
  return (
    header !== undefined &&
    header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag || tag.trim() === '*')
  );
}
