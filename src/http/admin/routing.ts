/** Handlers of the admin API for routing: explanations, and health of endpoints. */

import { GatewayError } from '../../core/errors.ts';
import { assertValid } from '../../core/json/check.ts';
import type { Json } from '../../core/json/json.ts';
import { explain } from '../../inference/explain.ts';
import { protocolOf } from '../../protocols/index.ts';
import { createRoutingState } from '../../routing/state.ts';
import type { StoredEndpointSnapshot } from '../../store/operations/endpoint-snapshots.ts';
import { endpointRows, mergeEndpoints, readSnapshot } from './endpoint-rows.ts';
import { iso } from './key-object.ts';
import type { AdminOptions, AdminRequest } from './request.ts';
import type { AdminHandlers } from './routes.ts';
import { type Question, question } from './schema.ts';

type RoutingHandlers = Pick<AdminHandlers, 'Explanation' | 'EndpointHealth'>;

/** Snapshots that are read, of 64 KiB each at most. */
const MAX_SNAPSHOTS = 32;

export function createRoutingHandlers({
  models,
  routing,
  refusesUnsupportedSearch,
  clock,
  store,
  instance,
}: AdminOptions): RoutingHandlers {
  async function explanation({ body }: AdminRequest): Promise<Json> {
    assertValid(question, body);
    const { protocol: id, body: request, policy, ideal = false, model = request?.model } = body as Question;
    if (typeof model !== 'string') {
      throw new GatewayError('invalid_request', 'model must be a text, here or in the body.', { param: 'model' });
    }
    const asked = {
      protocol: protocolOf(id),
      model,
      ...(request && { body: Buffer.from(JSON.stringify(request)) }),
      ...(policy && { policy: JSON.stringify(policy) }),
    };
    const state = ideal ? createRoutingState({ cooldown: () => 0 }) : routing;
    const data = await explain(asked, {
      models: models(),
      state,
      allows: () => true,
      refusesUnsupportedSearch: refusesUnsupportedSearch(),
      policyName: 'policy',
    });
    return { data: data as unknown as Json };
  }

  /** Latest snapshots of other processes; undefined if the store does not answer. */
  async function knownToOthers(): Promise<StoredEndpointSnapshot[] | undefined> {
    try {
      return await store.call('endpointSnapshots', { except: instance, now: store.now(), limit: MAX_SNAPSHOTS });
    } catch {
      return undefined;
    }
  }

  async function health(): Promise<Json> {
    const now = clock.now();
    const others = await knownToOthers();
    const own = { instance, at: now, isGone: false, rows: endpointRows({ routing, models }, now) };
    // Times of the store's clock, by their age.
    const known = (others ?? []).flatMap(({ instance: id, at, snapshot, heartbeatUntil }) => {
      const rows = readSnapshot(snapshot);
      return rows ? [{ instance: id, at: now - (store.now() - at), isGone: heartbeatUntil === undefined, rows }] : [];
    });
    const gateways = [own, ...known].map(({ instance: id, at, isGone, rows }) => ({
      id,
      answers: id === instance,
      gone: isGone,
      known_at: iso(at),
      endpoints: rows.length,
    }));
    return { data: mergeEndpoints([own, ...known], now), complete: others !== undefined, gateways } as unknown as Json;
  }

  return { Explanation: explanation, EndpointHealth: health };
}
