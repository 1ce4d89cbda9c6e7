/** Temporary and lasting key pairs of AWS, as its services answer them. */

import type { KeyPair, SentCredential } from '../../core/credential.ts';
import { assertHeaderText, textMember, unavailable } from '../ask.ts';
import type { IssuedCredential } from '../source.ts';

/** Names of the members of an answer. */
interface KeyMembers {
  id: string;
  secret: string;
  token: string;
}

/** Names in messages of the parts that go into headers. */
type KeyNames = Readonly<Record<'id' | 'sessionToken', string>>;

const MEMBERS: KeyMembers = { id: 'AccessKeyId', secret: 'SecretAccessKey', token: 'Token' };

/** Key pair of an answer with `Expiration`. */
export function issuedKeys(
  body: Readonly<Record<string, unknown>>,
  server: string,
  members: KeyMembers = MEMBERS,
): IssuedCredential {
  const expiresAt = Date.parse(textMember(body, 'Expiration', server));
  if (Number.isNaN(expiresAt)) throw unavailable(`the answer of ${server} has no valid Expiration`);
  const id = textMember(body, members.id, server);
  const secret = textMember(body, members.secret, server);
  const sessionToken = textMember(body, members.token, server);
  const names = { id: `${members.id} of ${server}`, sessionToken: `${members.token} of ${server}` };
  return { value: keyPair({ id, secret, sessionToken }, names), expiresAt };
}

/** Key pair that is valid until it is refused. */
export function lastingKeys(pair: KeyPair, names: KeyNames): IssuedCredential {
  return { value: keyPair(pair, names), expiresAt: Number.POSITIVE_INFINITY };
}

function keyPair({ id, secret, sessionToken }: KeyPair, names: KeyNames): SentCredential {
  assertHeaderText(id, names.id);
  if (sessionToken === undefined) return { type: 'key-pair', id, secret };
  assertHeaderText(sessionToken, names.sessionToken);
  return { type: 'key-pair', id, secret, sessionToken };
}
