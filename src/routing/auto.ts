/** Model `auto`: the gateway chooses among the models of `model_routing_config`. */

import { GatewayError } from '../core/errors.ts';
import { isObject, type Json } from '../core/json/json.ts';
import type { RoutingPolicy } from './policy.ts';

/** Sort order of each preference; `balanced` and `quality` keep the order of the list. */
const PREFERENCES: Record<string, Partial<RoutingPolicy>> = {
  balanced: {},
  quality: {},
  cost: { sort: 'price', acrossModels: true },
  price: { sort: 'price', acrossModels: true },
  speed: { sort: 'latency', acrossModels: true },
  performance: { sort: 'latency', acrossModels: true },
};

/** As many as the other lists of a routing policy may have. */
const MAX_MODELS = 100;

export interface AutoChoice {
  /** Best first; empty selects the default model of the configuration. */
  models: string[];
  overrides: Partial<RoutingPolicy>;
}

/** Whether a name leaves the choice of the model to the gateway: `auto`, or any name that ends with `/auto`. */
export function isAuto(name: string): boolean {
  return name === 'auto' || name.endsWith('/auto');
}

/** Reads `model_routing_config`. Throws `invalid_request` naming the invalid field. */
export function readAutoChoice(config: Json): AutoChoice {
  if (config == null) return { models: [], overrides: {} };
  const at = 'model_routing_config';
  if (!isObject(config)) throw invalidField(at, 'must be an object');
  const { models, available_models: available, preference, ...rest } = config;
  const [unknown] = Object.keys(rest).filter((name) => name !== 'task_info');
  if (unknown !== undefined)
    throw invalidField(
      `${at}.${unknown}`,
      'is not a known field; allowed: models, available_models, preference, task_info',
    );
  const list: Json = models ?? available ?? [];
  const isList = Array.isArray(list) && list.length <= MAX_MODELS;
  if (!isList || !list.every((name) => typeof name === 'string' && name !== ''))
    throw invalidField(
      `${at}.${models == null ? 'available_models' : 'models'}`,
      `must be a list of up to ${MAX_MODELS} names of models`,
    );
  if (preference != null && !Object.hasOwn(PREFERENCES, preference))
    throw invalidField(`${at}.preference`, `must be one of ${Object.keys(PREFERENCES).join(', ')}`);
  return { models: list, overrides: PREFERENCES[preference ?? 'balanced'] ?? {} };
}

function invalidField(param: string, problem: string): GatewayError {
  return new GatewayError('invalid_request', `${param} ${problem}.`, { param });
}
