/** Creation of several keys in one request: all or none. */

import { GatewayError } from '../../core/errors.ts';
import { assertValid } from '../../core/json/check.ts';
import type { Json } from '../../core/json/json.ts';
import { keysOfCsv } from '../../keys/csv.ts';
import type { NewKey } from '../../keys/store.ts';
import type { LimitSubject } from '../../limits/subjects.ts';
import { initialSettings } from '../../records/key-settings.ts';
import { unusedBudgets } from '../../usage/budget-use.ts';
import { unspent } from '../../usage/spending.ts';
import { encodeKey } from './key-object.ts';
import { newKeyOf } from './keys.ts';
import type { AdminOptions, AdminRequest } from './request.ts';
import type { AdminHandlers } from './routes.ts';
import { bulk, creation, type KeyCreation, MAX_BULK_KEYS } from './schema.ts';

export function createBulkHandlers({
  keys,
  tags,
  admission,
  clock: { now },
}: AdminOptions): Pick<AdminHandlers, 'KeyBulk'> {
  return {
    async KeyBulk({ body, author }: AdminRequest): Promise<Json> {
      assertValid(bulk, body);
      const { keys: bodies, csv } = body as { keys?: KeyCreation[] | null; csv?: string | null };
      if ((bodies == null) === (csv == null))
        throw new GatewayError('invalid_request', 'Give either keys or csv.', { param: 'keys' });
      const defaults = initialSettings(tags.shared().keyDefaults);
      const moment = now();
      const wanted = csv == null ? newKeysOf(bodies ?? [], defaults, moment) : newKeysOfCsv(csv, defaults, moment);
      const created = await keys.createAll(wanted, author);
      const data = created.map(({ key, secret, webhookSecret }) => {
        const [own] = admission.subjects(key) as [LimitSubject];
        const unused = { own, spending: unspent(own.budgets), uses: unusedBudgets(own.budgets, moment) };
        return { data: encodeKey(key, unused, moment), key: secret, webhook_secret: webhookSecret ?? null };
      });
      return { data };
    },
  };
}

/**
 * Keys of CSV with a header; `defaults` are settings of lines that do not have them, `now` in Unix milliseconds. Throws
 * `invalid_request` naming the line.
 */
export function newKeysOfCsv(csv: string, defaults: Json, now: number): NewKey[] {
  const rows = keysOfCsv(csv);
  if (rows.length > MAX_BULK_KEYS)
    throw new GatewayError('invalid_request', `csv must have at most ${MAX_BULK_KEYS} keys.`, { param: 'csv' });
  const seen = new Map<string, number>();
  return rows.map(({ line, fields }) => {
    try {
      assertValid(creation, fields);
      const key = newKeyOf(fields as KeyCreation, defaults, now);
      const first = seen.get(key.name);
      if (first !== undefined) throw new GatewayError('invalid_request', `line ${first} has the same name.`);
      seen.set(key.name, line);
      return key;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      throw new GatewayError('invalid_request', `Line ${line}: ${error.message}`, { param: 'csv' });
    }
  });
}

function newKeysOf(bodies: readonly KeyCreation[], defaults: Json, now: number): NewKey[] {
  return bodies.map((body, index) => {
    try {
      return newKeyOf(body, defaults, now);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const param = `keys[${index}]${error.param === undefined ? '' : `.${error.param}`}`;
      throw new GatewayError('invalid_request', `keys[${index}]: ${error.message}`, { param });
    }
  });
}
