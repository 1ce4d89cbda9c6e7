/** Temporary and lasting key pairs of AWS, as its services answer them. */

import type { KeyPair, SentCredential } from '../../core/credential.ts';
import { inHeaders, textMember, unavailable } from '../ask.ts';
import type { IssuedCredential } from '../source.ts';

/** Names of the members of an answer. */
interface KeyMembers {
  id: string;
  secret: string;
  token: string;
}

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
  return { value: keyPair({ id, secret, sessionToken: textMember(body, members.token, server) }), expiresAt };
}

/** Key pair that is valid until it is refused. */
export function lastingKeys(id: string, secret: string, sessionToken?: string): IssuedCredential {
  const expiresAt = Number.POSITIVE_INFINITY;
  return { value: keyPair({ id, secret, ...(sessionToken !== undefined && { sessionToken }) }), expiresAt };
}

function keyPair(pair: KeyPair): SentCredential {
  inHeaders({ id: pair.id, sessionToken: pair.sessionToken });
  return { type: 'key-pair', ...pair };
}
