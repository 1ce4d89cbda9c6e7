/** Which models there are at this moment and where a call for one of them can go. */

import type { Catalog } from '../catalog/catalog.ts';
import { GatewayError } from '../core/errors.ts';
import type { Provider } from '../core/provider.ts';
import type { Endpoint } from './call.ts';
import type { Credentials } from './credentials.ts';

/** An upstream that is configured and can be reached. */
export interface ActiveProvider {
  provider: Provider;
  credentials: Credentials;
  headers: Record<string, string>;
  /** Asks the upstream for models that are not known yet, if it was not just asked; settles also when it fails. */
  learn?(): Promise<void>;
}

/** An atomic snapshot: a reload makes a new one, running calls keep theirs. */
export interface Models {
  providers: ReadonlyMap<string, ActiveProvider>;
  catalog(): Catalog;
}

/** Throws `model_not_found` for a name that is not `<provider>/<model_id>` of a known provider and model. */
export async function endpointOf(models: Models, name: string, conversation: string): Promise<Endpoint> {
  const slash = name.indexOf('/');
  if (slash <= 0 || slash === name.length - 1) {
    throw new GatewayError('model_not_found', `The model "${name}" is not of the form <provider>/<model_id>.`, {
      param: 'model',
    });
  }
  const active = models.providers.get(name.slice(0, slash));
  const known = models.catalog().find(name);
  if (!known) await active?.learn?.();
  const model = known ?? models.catalog().find(name);
  const owner = model && models.providers.get(model.provider);
  if (model && owner) {
    const { provider, headers, credentials } = owner;
    return { provider, headers, model, credential: credentials.pick(conversation) };
  }
  if (active) {
    throw new GatewayError(
      'model_not_found',
      `The provider "${active.provider.id}" has no model "${name.slice(slash + 1)}".`,
      { param: 'model' },
    );
  }
  const ready = [...models.providers.keys()].join(', ');
  throw new GatewayError(
    'model_not_found',
    `There is no provider "${name.slice(0, slash)}"; configured are: ${ready}.`,
    { param: 'model' },
  );
}
