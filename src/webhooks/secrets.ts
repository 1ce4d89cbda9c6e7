/** Webhook signing secrets: one per API key, encrypted at rest, rotated with an overlap. */

import { randomBytes, randomUUID } from 'node:crypto';
import { GatewayError } from '../core/errors.ts';
import type { Cipher, CiphertextLocation } from '../security/cipher.ts';
import type { Secret } from '../security/secret.ts';
import type { Author } from '../store/audit-rows.ts';
import type { StoredSecret } from '../store/secret-rows.ts';
import type { Store } from '../store/store.ts';
import { type SigningSecrets, signatureHeaders, type WebhookMessage } from './signature.ts';

export interface WebhookSecretsOptions {
  store: Pick<Store, 'call' | 'now'>;
  cipher: Cipher;
  /** Secret for keys that have none of their own. */
  fallback?: Secret;
  /** Whether webhooks have the headers of Standard Webhooks too; true by default. */
  standardHeaders?: boolean;
}

export interface RevealedSecret {
  secret: string;
  /** Unix milliseconds from which `X-Service-Signature` uses this secret. */
  activeAt: number;
}

export type WebhookSigner = (message: WebhookMessage) => Record<string, string>;

/** An owner is the id of an API key. */
export interface WebhookSecrets {
  /** Generates the first secret of a new key, to be stored in the same transaction. */
  generateFirst(owner: string): { secret: string; stored: StoredSecret };
  /** Creates a secret unless the owner has one. Returns the current secret. */
  create(owner: string): Promise<string>;
  /**
   * The current secret, followed by the next one after a rotation, with an entry in the audit log. Empty if the owner has none
   * of its own.
   */
  reveal(owner: string, author: Author): Promise<RevealedSecret[]>;
  /** Adds a secret that becomes current `after` milliseconds (0 after a leak). Replaces one that is not current yet. */
  rotate(owner: string, options?: { after?: number; author?: Author }): Promise<RevealedSecret>;
  /** Whether the owner has a signing secret, or the configuration has one for all. */
  canSign(owner: string): Promise<boolean>;
  /** Ensures that webhooks of this key can be signed. Throws `invalid_request` for a configured key without a secret. */
  ensureCanSign(key: { id: string; origin: 'store' | 'configuration' }): Promise<void>;
  /** The secrets to sign with now; undefined if there is none. */
  signingSecrets(owner: string): Promise<SigningSecrets | undefined>;
  /** Makes the headers of webhooks with the secrets of now; undefined if there is none. */
  signer(owner: string): Promise<WebhookSigner | undefined>;
  /** Throws `unavailable` if a stored secret cannot be decrypted with the configured encryption keys. */
  verify(): Promise<void>;
  /** Re-encrypts all secrets with the newest encryption key. Returns the number of changed secrets. */
  rekey(author: Author): Promise<number>;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const SECRET_BYTES = 32;
const GATEWAY_AUTHOR: Author = { actor: 'gateway' };
const PAGE_SIZE = 500;

export function createWebhookSecrets(options: WebhookSecretsOptions): WebhookSecrets {
  const { store, cipher, fallback, standardHeaders = true } = options;

  function generate(owner: string, { id, activeAt }: { id: string; activeAt: number }) {
    const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
    const stored = {
      id,
      owner,
      ciphertext: cipher.encrypt(secret, ciphertextLocation(id)),
      createdAt: store.now(),
      activeAt,
    };
    return { secret, stored };
  }

  const decrypt = ({ id, ciphertext }: StoredSecret) => cipher.decrypt(ciphertext, ciphertextLocation(id));

  /** The current secret and, after a rotation, the next one. */
  async function currentAndNext(owner: string): Promise<StoredSecret[]> {
    const all = await store.call('listSecrets', { owner });
    const now = store.now();
    const active = all.findLastIndex(({ activeAt }) => activeAt <= now);
    return all.slice(Math.max(active, 0));
  }

  const generateFirst = (owner: string) => generate(owner, { id: `${owner}/first`, activeAt: store.now() });

  async function create(owner: string): Promise<string> {
    // Concurrent calls use the same id, so only one secret is stored.
    await store.call('addFirstSecret', generateFirst(owner).stored);
    const [current] = await currentAndNext(owner);
    if (!current) throw new GatewayError('unavailable', 'The webhook secret was removed while it was made.');
    return decrypt(current);
  }

  async function* allSecrets(): AsyncGenerator<StoredSecret> {
    let after = '';
    for (;;) {
      const page = await store.call('scanSecrets', { after, limit: PAGE_SIZE });
      yield* page;
      if (page.length < PAGE_SIZE) return;
      after = page.at(-1)?.id ?? after;
    }
  }

  async function canSign(owner: string): Promise<boolean> {
    return fallback !== undefined || (await currentAndNext(owner)).length > 0;
  }

  async function signingSecrets(owner: string): Promise<SigningSecrets | undefined> {
    const [first, second] = await currentAndNext(owner);
    if (!first) return fallback && { current: fallback.reveal() };
    if (first.activeAt > store.now() && fallback) return { current: fallback.reveal(), next: decrypt(first) };
    return { current: decrypt(first), ...(second && { next: decrypt(second) }) };
  }

  return {
    generateFirst,
    create,
    canSign,
    async reveal(owner, author) {
      const known = await currentAndNext(owner);
      if (known.length > 0) await store.call('noteSecretRead', { owner, now: store.now(), author });
      return known.map((stored) => ({ secret: decrypt(stored), activeAt: stored.activeAt }));
    },
    async rotate(owner, { after = DAY_MS, author = GATEWAY_AUTHOR } = {}) {
      const now = store.now();
      const activeAt = now + after;
      const { secret, stored } = generate(owner, { id: `${owner}/${randomUUID()}`, activeAt });
      await store.call('rotateSecret', { ...stored, now, author });
      return { secret, activeAt };
    },
    async ensureCanSign({ id, origin }) {
      if (await canSign(id)) return;
      if (origin === 'store') await create(id);
      else throw missingSecretError();
    },
    signingSecrets,
    async signer(owner) {
      const secrets = await signingSecrets(owner);
      return secrets && ((message) => signatureHeaders(message, secrets, standardHeaders));
    },
    async verify() {
      for await (const stored of allSecrets()) decrypt(stored);
    },
    async rekey(author) {
      let changed = 0;
      for await (const stored of allSecrets()) {
        const { id, ciphertext } = stored;
        if (cipher.isCurrent(ciphertext)) continue;
        const to = cipher.encrypt(decrypt(stored), ciphertextLocation(id));
        if (await store.call('replaceCiphertext', { id, from: ciphertext, to })) changed += 1;
      }
      await store.call('setEncryptionKey', { keyId: cipher.keyId, changed, author, now: store.now() });
      return changed;
    },
  };
}

function ciphertextLocation(id: string): CiphertextLocation {
  return { table: 'webhook_secret', id, column: 'ciphertext' };
}

function missingSecretError(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'Webhooks of a key kept in the configuration need callbacks.secret there; without it, leave callback_url out and poll.',
    { param: 'callback_url' },
  );
}
