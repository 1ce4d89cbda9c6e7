/** Routes for receivers of webhooks, with the key: the secrets that sign its webhooks, and a feed of them. */

import * as Type from 'typebox';
import { type Clock, systemClock } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Protocol } from '../../core/protocol.ts';
import type { Store } from '../../store/store.ts';
import type { WebhookSecrets } from '../../webhooks/secrets.ts';
import type { createDeliveryFeed } from '../delivery-feed.ts';
import { CURRENT_STATE } from '../openapi/operation.ts';
import { keyOf, type RequestContext } from '../request-context.ts';
import { matchExactly, type Route } from '../route-table.ts';

export interface KeyWebhookOptions {
  store: Pick<Store, 'call'>;
  secrets: Pick<WebhookSecrets, 'reveal' | 'signer'>;
  clock?: Clock | undefined;
  isStopping?: (() => boolean) | undefined;
}

const SECRET_PATH = '/v1/key/webhook-secret';
const FEED_PATH = '/v1/key/webhooks';

export function keyWebhookRoutes(protocol: Protocol, options: KeyWebhookOptions): Route<RequestContext>[] {
  return [secretRoute(protocol, options), feedRoute(protocol, options)];
}

function secretRoute(protocol: Protocol, { secrets }: Pick<KeyWebhookOptions, 'secrets'>): Route<RequestContext> {
  return {
    name: 'own.webhook-secret',
    method: 'GET',
    path: SECRET_PATH,
    match: matchExactly(SECRET_PATH),
    templates: [{ path: SECRET_PATH }],
    protocol,
    access: 'key',
    // It leaves an entry in the audit log, and read-only keys make no videos that have webhooks.
    changes: true,
    limited: false,
    hasOwnQuery: true,
    describe: () => ({
      id: 'own_webhook_secret',
      tag: 'use',
      summary: 'Webhook secrets of the key: the current one, then the next one during a rotation',
      response: CURRENT_STATE,
    }),
    async handle(context) {
      const { id } = keyOf(context);
      const { requestId, session } = context;
      // An admin reads it as a key that the request names.
      const actor = session?.role === 'admin' ? 'admin' : 'key';
      const revealed = await secrets.reveal(id, { actor, requestId });
      if (revealed.length === 0) {
        throw new GatewayError('not_found', 'This key has no webhook secret of its own; ask the operator for one.');
      }
      const data = revealed.map(({ secret, activeAt }) => ({ secret, active_at: new Date(activeAt).toISOString() }));
      return context.send({ body: { data } });
    },
  };
}

function feedRoute(
  protocol: Protocol,
  { store, secrets, clock = systemClock, isStopping = () => false }: KeyWebhookOptions,
): Route<RequestContext> {
  let feed: ReturnType<typeof createDeliveryFeed> | undefined;
  return {
    name: 'own.webhooks',
    method: 'GET',
    path: FEED_PATH,
    match: matchExactly(FEED_PATH),
    templates: [{ path: FEED_PATH }],
    protocol,
    access: 'key',
    // Its headers are signed, and read-only keys may not read what signs.
    changes: true,
    limited: false,
    hasOwnQuery: true,
    describe: () => ({
      id: 'own_webhooks',
      tag: 'use',
      summary: 'Webhooks of the key after a cursor, as they are sent to their receivers',
      query: [
        {
          name: 'after',
          schema: Type.String(),
          description: 'What next was in the response before; absent to begin now.',
        },
        { name: 'wait', schema: Type.String(), description: 'Seconds to wait for one, 25 at most.' },
      ],
      response: CURRENT_STATE,
    }),
    async handle(context) {
      // A start does not need it.
      const { createDeliveryFeed: create } = await import('../delivery-feed.ts');
      feed ??= create({ store, secrets, clock, isStopping });
      return feed(context);
    },
  };
}
