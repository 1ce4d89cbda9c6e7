/** Key handlers of the admin API: list, create, change, rotate and revoke. */

import { momentOf } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import { assertValid } from '../../core/json/check.ts';
import type { Json } from '../../core/json/json.ts';
import { merged } from '../../core/json/merge.ts';
import type { Key, NewKey } from '../../keys/store.ts';
import type { LimitSubject } from '../../limits/subjects.ts';
import { initialSettings } from '../../records/key-settings.ts';
import { budgetUsesOf } from '../../usage/budget-use.ts';
import { spendingOf } from '../../usage/spending.ts';
import { describeAllotments } from '../allotments.ts';
import { listOrFile } from '../list-file.ts';
import { pageOfKeys } from './key-list.ts';
import { encodeKey, iso } from './key-object.ts';
import type { AdminOptions, AdminRequest } from './request.ts';
import type { AdminHandlers } from './routes.ts';
import { change, creation, type KeyChange, type KeyCreation, leak, rotation, secretRotation } from './schema.ts';
import { settingsPatch } from './settings.ts';

type KeyHandlers = Pick<
  AdminHandlers,
  | 'KeyList'
  | 'KeyCreation'
  | 'KeyLeak'
  | 'Key'
  | 'KeyChange'
  | 'KeyRotation'
  | 'KeyRemoval'
  | 'WebhookSecret'
  | 'SecretRotation'
>;

export function createKeyHandlers({
  keys,
  tags,
  secrets,
  store,
  admission,
  clock: { now },
}: AdminOptions): KeyHandlers {
  const source = { store, reservations: admission.reservations };

  async function listed(key: Key): Promise<Json> {
    const [own] = admission.subjects(key) as [LimitSubject];
    const moment = now();
    const [spending, uses] = await Promise.all([spendingOf(store, own, moment), budgetUsesOf(source, own, moment)]);
    return encodeKey(key, { own, spending, uses }, moment);
  }

  /** Key object that includes the allotments of its tags. */
  async function described(key: Key): Promise<Json> {
    const [, ...shared] = admission.subjects(key);
    const [view, tags] = await Promise.all([listed(key), describeAllotments(source, shared, now())]);
    return { ...view, effective: { ...view.effective, tags } };
  }

  /** Finds a key by its id only, because a name can be reused by another key. */
  async function named({ parameters }: AdminRequest): Promise<Key> {
    const key = (await keys.list()).find(({ id }) => id === parameters.hash);
    if (!key) throw unknownKey();
    return key;
  }

  async function list(query: URLSearchParams): Promise<Json> {
    const page = pageOfKeys(await keys.list(), query, now());
    const data = await Promise.all(page.keys.map(listed));
    return { data, total: page.total, next: page.next, default_tags: tags.shared().keyDefaults.tags ?? {} };
  }

  async function create({ body, author }: AdminRequest): Promise<Json> {
    assertValid(creation, body);
    const { key, secret, webhookSecret } = await keys.create(
      newKeyOf(body as KeyCreation, initialSettings(tags.shared().keyDefaults), now()),
      author,
    );
    return { data: await described(key), key: secret, webhook_secret: webhookSecret ?? null };
  }

  async function update(request: AdminRequest): Promise<Json> {
    assertValid(change, request.body);
    const { name, disabled, expires_at: expires, unchanged_since: since } = request.body as KeyChange;
    const key = await named(request);
    const patch = {
      ...(typeof name === 'string' && { name }),
      ...(typeof disabled === 'boolean' && { disabled }),
      ...(since !== undefined && { unchangedSince: existingMomentOf(since, 'unchanged_since') }),
      ...(expires !== undefined && {
        expiresAt: expires === null ? null : futureExpiryOf(expires, now(), key.expires),
      }),
      settings: settingsPatch(
        request.body,
        await spendingOf(store, { name: key.id, budgets: key.settings.budgets ?? {} }, now()),
      ),
    };
    return { data: await described(await keys.update(key.id, patch, request.author)) };
  }

  async function rotate(request: AdminRequest): Promise<Json> {
    assertValid(rotation, request.body);
    const { overlap } = request.body;
    const { id } = await named(request);
    const rotated = await keys.rotate(id, milliseconds(overlap), request.author);
    return { data: await described(rotated.key), key: rotated.secret };
  }

  async function remove(request: AdminRequest): Promise<Json> {
    await keys.revoke((await named(request)).id, request.author);
    return { deleted: true };
  }

  /** Revokes leaked keys. Texts that are not keys are counted, not returned. */
  async function revokeLeaked({ body, author }: AdminRequest): Promise<Json> {
    assertValid(leak, body);
    const found = await Promise.all((body.keys as string[]).map((text) => keys.identify(text)));
    const known = new Map(found.flatMap((key) => (key ? [[key.id, key]] : [])));
    const data: Json[] = [];
    for (const key of known.values()) {
      const stored = key.origin === 'store';
      data.push(await described(stored ? await keys.revoke(key.id, author) : key));
    }
    return { data, unknown: found.filter((key) => key === undefined).length };
  }

  async function revealSecret(request: AdminRequest): Promise<Json> {
    const { id, origin } = await named(request);
    if (origin === 'configuration') throw unsigned();
    await secrets.create(id);
    const revealed = await secrets.reveal(id, request.author);
    return { data: revealed.map(({ secret, activeAt }) => ({ secret, active_at: iso(activeAt) })) };
  }

  async function rotateSecret(request: AdminRequest): Promise<Json> {
    assertValid(secretRotation, request.body);
    const { id, origin } = await named(request);
    if (origin === 'configuration') throw unsigned();
    const after = milliseconds(request.body.activate_in);
    const { secret, activeAt } = await secrets.rotate(id, { after, author: request.author });
    return { data: { secret, active_at: iso(activeAt) } };
  }

  return {
    KeyList: ({ query }) => listOrFile('keys', query, list),
    KeyCreation: create,
    KeyLeak: revokeLeaked,
    Key: async (request) => ({ data: await described(await named(request)) }),
    KeyChange: update,
    KeyRotation: rotate,
    KeyRemoval: remove,
    WebhookSecret: revealSecret,
    SecretRotation: rotateSecret,
  };
}

/**
 * Key of a valid body of the API, with `defaults` for settings that the body does not have; `now` in Unix milliseconds. Throws
 * `invalid_request`.
 */
export function newKeyOf(body: KeyCreation, defaults: Json, now: number): NewKey {
  const { name, expires_at: expires } = body;
  const settings = merged(defaults, settingsPatch(body));
  return { name, settings, ...(expires && { expires: futureExpiryOf(expires, now) }) };
}

export function unknownKey(): GatewayError {
  return new GatewayError('not_found', 'There is no key with this hash.');
}

/** `known` is the expiry that the key already has, which a body may repeat once it is past. */
function futureExpiryOf(text: string, now: number, known?: number): number {
  const moment = existingMomentOf(text, 'expires_at');
  if (moment > now || moment === known) return moment;
  throw new GatewayError('invalid_request', 'expires_at must be in the future.', { param: 'expires_at' });
}

export function existingMomentOf(text: string, param: string): number {
  const moment = momentOf(text);
  if (!Number.isNaN(moment)) return moment;
  throw new GatewayError('invalid_request', `${param} must be a date that exists.`, { param });
}

function milliseconds(seconds: Json): number | undefined {
  return typeof seconds === 'number' ? seconds * 1000 : undefined;
}

function unsigned(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'A key of the configuration signs with callbacks.secret, which stands there.',
  );
}
