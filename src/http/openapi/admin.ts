/** The routes of the admin API, which has a listener of its own. */

import { type TSchema, Type } from 'typebox';
import { change, creation, leak, rotation, secretRotation } from '../admin/schema.ts';
import { type ApiOperation, anyObject, JSON_TYPE, type Parameter } from './operation.ts';

const query = (name: string, schema: TSchema, description: string): Parameter => ({ name, schema, description });
const LIMIT = query('limit', Type.Integer({ minimum: 1 }), 'Entries on a page.');
const BEFORE = query('before', Type.Integer(), 'Where the page before ended.');

interface Facts extends Pick<ApiOperation, 'method' | 'path' | 'summary' | 'query'> {
  name: string;
  body?: TSchema;
  /** Nothing need be said in it. */
  optional?: true;
  /** 200 if absent. */
  status?: number;
}

const KEYS = '/admin/v1/keys';
const KEY = `${KEYS}/{hash}`;
const DELIVERY = '/admin/v1/deliveries/{task}';

const FACTS: readonly Facts[] = [
  {
    ...{ name: 'KeyList', method: 'GET', path: KEYS, summary: 'List keys' },
    query: [
      LIMIT,
      query('offset', Type.Integer({ minimum: 0 }), 'How many to leave out.'),
      query('include_disabled', Type.Boolean(), 'Show those too that are disabled or revoked.'),
    ],
  },
  { name: 'KeyCreation', method: 'POST', path: KEYS, summary: 'Make a key', body: creation, status: 201 },
  { name: 'KeyLeak', method: 'POST', path: `${KEYS}/revoke`, summary: 'Revoke keys that were seen', body: leak },
  { name: 'Key', method: 'GET', path: KEY, summary: 'Look at a key' },
  { name: 'KeyChange', method: 'PATCH', path: KEY, summary: 'Change a key', body: change },
  { name: 'KeyRemoval', method: 'DELETE', path: KEY, summary: 'Revoke a key' },
  {
    ...{ name: 'KeyRotation', method: 'POST', path: `${KEY}/rotate`, summary: 'Give a key another secret' },
    ...{ body: rotation, optional: true },
  },
  { name: 'WebhookSecret', method: 'GET', path: `${KEY}/webhook-secret`, summary: 'Show what signs its webhooks' },
  {
    ...{ name: 'SecretRotation', method: 'POST', path: `${KEY}/webhook-secret/rotate` },
    ...{ summary: 'Give its webhooks another secret', body: secretRotation, optional: true },
  },
  {
    ...{ name: 'KeyDeliveries', method: 'GET', path: `${KEY}/deliveries`, summary: 'List its webhooks' },
    query: [LIMIT, BEFORE],
  },
  {
    ...{ name: 'Audit', method: 'GET', path: '/admin/v1/audit', summary: 'List what was changed, and by whom' },
    query: [LIMIT, BEFORE, query('subject', Type.String(), 'What was changed.')],
  },
  {
    ...{ name: 'Usage', method: 'GET', path: '/admin/v1/usage', summary: 'What keys have used' },
    query: ['from', 'to', 'by', 'key'].map((name) => query(name, Type.String(), 'As on /v1/usage.')),
  },
  { name: 'Delivery', method: 'GET', path: DELIVERY, summary: 'See what became of a webhook, in all details' },
  { name: 'Replay', method: 'POST', path: `${DELIVERY}/replay`, summary: 'Send a webhook once more', status: 202 },
];

export const adminOperations: readonly ApiOperation[] = FACTS.map(
  ({ name, body, optional, status = 200, ...facts }) => ({
    ...{ ...facts, id: `admin_${name}`, tag: 'admin', access: 'admin' },
    ...(body && { body: { types: [JSON_TYPE], schema: { name: `Admin${name}`, schema: body }, optional } }),
    answer: { status, description: 'As it then is.', type: JSON_TYPE, schema: anyObject },
  }),
);
