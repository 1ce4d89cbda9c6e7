/** Schemas of the routes of sessions. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';

const closed = { additionalProperties: false };
const text = Type.Optional(Type.String({ minLength: 1, maxLength: 300 }));
const moment = Type.String({ format: 'date-time' });

function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

function oneOf(names: string[], description: string) {
  return Type.Unsafe<string>({ type: 'string', enum: names, description });
}

export const login = Type.Object(
  { code: text, token: text, key: text },
  { ...closed, description: 'Exactly one of them: a one-time code, the admin token, or a key.' },
);

export const link = Type.Object({ role: oneOf(['admin', 'viewer'], 'Role of its session.') }, closed);

const key = Type.Object({
  hash: Type.String(),
  name: Type.String(),
  label: Type.String({ description: 'Its first characters.' }),
  read_only: Type.Boolean({ description: 'Whether it may start nothing.' }),
});

export const session = Type.Object({
  data: Type.Object({
    role: oneOf(['admin', 'viewer', 'key', 'nobody'], 'Nobody without a session.'),
    id: nullable(Type.String()),
    key: nullable(key),
    opened_at: nullable(moment),
    ends_at: nullable(moment),
    serves_operators: Type.Boolean({ description: 'Whether this address has the admin API.' }),
    serves_keys: Type.Boolean({ description: 'Whether keys call models at this address.' }),
    clients_url: nullable(Type.String({ description: 'Base URL at which they do, where it is not this address.' })),
    admin_url: nullable(
      Type.String({ description: 'Base URL of the admin API, for operators, where it is not this address.' }),
    ),
  }),
});

export const openedLink = Type.Object({ data: Type.Object({ url: Type.String(), expires_at: moment }) });

export const sessionList = Type.Object({
  data: Type.Array(
    Type.Object({
      id: Type.String(),
      role: oneOf(['admin', 'viewer', 'key'], 'Role of the session.'),
      key_hash: nullable(Type.String()),
      key_name: nullable(Type.String()),
      opened_with: oneOf(['code', 'token', 'key'], 'Text that opened it.'),
      opened_at: moment,
      seen_at: moment,
      current: Type.Boolean({ description: 'Whether it is the one that asks.' }),
    }),
  ),
  total: Type.Integer({ minimum: 0, description: 'Number of sessions on all pages.' }),
  next: nullable(Type.String({ description: '`after` of the next page.' })),
});

export const OPEN_SESSION_PARAMETERS = [
  { name: 'limit', schema: Type.Integer({ minimum: 1, maximum: 100 }), description: 'Sessions on a page.' },
  { name: 'after', schema: Type.String(), description: 'The `next` of the page before.' },
];

export const endedSession = Type.Object({ deleted: Type.Boolean() });
