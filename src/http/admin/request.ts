/** Requests of the admin API, as its handlers receive them. */

import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import type { Json } from '../../core/json/json.ts';
import type { Protocol } from '../../core/protocol.ts';
import type { KeyStore } from '../../keys/store.ts';
import type { Secret } from '../../security/secret.ts';
import type { Author } from '../../store/audit-rows.ts';
import type { Store } from '../../store/store.ts';
import type { WebhookSecrets } from '../../webhooks/secrets.ts';
import type { BodyBudget } from '../body-budget.ts';
import type { HttpContext } from '../request-context.ts';
import type { FoundRoute, MissedRoute } from '../route-table.ts';

export interface AdminOptions {
  token: Secret;
  keys: KeyStore;
  secrets: WebhookSecrets;
  store: Pick<Store, 'call'>;
  /** Sends the webhook of a task again. Throws `not_found` and `delivery_in_flight`. */
  replay(owner: string, taskId: string): Promise<void>;
  /** Error format. */
  protocol: Protocol;
  /** Shared with the gateway's server. */
  bodyBudget: BodyBudget;
  log: Logger;
  clock: Clock;
}

/** Authorized request of the operator. */
export interface AdminRequest {
  parameters: Partial<Record<string, string>>;
  query: URLSearchParams;
  /** Empty object without a body. */
  body: Json;
  author: Author;
}

export type AdminContext = HttpContext & { found: FoundRoute<AdminContext> | MissedRoute };
