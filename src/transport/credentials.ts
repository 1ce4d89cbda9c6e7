/**
 * Credential selection for a provider with several keys. Model state (signatures, encrypted reasoning, cached prompts)
 * belongs to an account, so a conversation keeps its credential while that is healthy.
 */

import { createHash } from 'node:crypto';
import { monotonicNow } from '../core/clock.ts';
import {
  type CredentialSource,
  type CredentialValue,
  type Identity,
  type IdentityStatus,
  NO_CREDENTIAL,
} from '../core/credential.ts';
import { type GatewayError, REFUSED_TIME_NAME } from '../core/errors.ts';
import { MAX_RETRY_AFTER_MS } from '../core/fields.ts';

export interface Credential {
  /** Identifies it without revealing it: a digest of its value. */
  id: string;
  /** Number in the configuration, from 1. */
  number: number;
  value: CredentialValue;
  /**
   * Called when a call with this credential failed. Returns true if the call may be accepted when it is authorized again. `sentAt`:
   * Unix milliseconds when the call was authorized.
   */
  failed(error: GatewayError, sentAt?: number): boolean;
  /** Remaining cooldown in milliseconds; 0 if it may be used. */
  cooldown(): number;
}

export interface Credentials {
  /** The credential of a conversation: stable among the healthy ones, evenly distributed. */
  pick(conversation: string): Credential;
  /** The credential with this id; undefined if it is no longer configured. */
  find(id: string): Credential | undefined;
  /** All of them, healthy ones first. */
  all(): Credential[];
}

/** Identity whose code is still being loaded; requests wait for it. */
export interface OpeningIdentity {
  value: CredentialValue;
  /** Settles once its status is known. */
  opened: Promise<void>;
  status(): IdentityStatus;
}

/** `id` names the account without a secret. */
export function openLater(id: string, open: () => Promise<Identity>): OpeningIdentity {
  let opened: Identity | undefined;
  const opening = open().then((identity) => {
    opened = identity;
    return identity;
  });
  const source: CredentialSource = {
    id,
    current: () => (opened ? opened.source.current() : opening.then((identity) => identity.source.current())),
    refused: (sentAt) => opened?.source.refused(sentAt) ?? false,
    doubted: () => opened?.source.doubted(),
  };
  return {
    value: { type: 'renewed', source },
    opened: opening.then(
      () => {},
      () => {},
    ),
    status: () => opened?.status() ?? {},
  };
}

const REFUSED_MS = 300_000;
/**
 * Cooldown in milliseconds by the upstream's status; a `retry-after` overrides it. Not of 403, which is mostly of one model: its
 * endpoint has a cooldown then.
 */
const COOLDOWN_MS: Record<number, number> = { 401: REFUSED_MS, 402: REFUSED_MS, 429: 10_000 };

/** Without values there is one credential, which is empty. `now`: monotonic milliseconds. */
export function createCredentials(values: readonly CredentialValue[], now: () => number = monotonicNow): Credentials {
  const entries = (values.length > 0 ? values : [NO_CREDENTIAL]).map((value, index) => ({
    id: digestOf(value),
    value,
    index,
    cooldownEnd: 0,
  }));
  const [only] = entries;

  function credential(entry: (typeof entries)[number]): Credential {
    return {
      id: entry.id,
      number: entry.index + 1,
      value: entry.value,
      failed(error, sentAt) {
        const { upstreamStatus = 0, upstreamCode = '', retryAfter } = error;
        if (isSigning(entry.value) && upstreamCode === REFUSED_TIME_NAME) return true;
        if (isRenewedAfter(error, entry.value, sentAt)) return true;
        const cooldownMs = REFUSED_KEYS.test(upstreamCode) ? REFUSED_MS : COOLDOWN_MS[upstreamStatus];
        if (cooldownMs !== undefined)
          entry.cooldownEnd = now() + Math.min(retryAfter ?? cooldownMs, MAX_RETRY_AFTER_MS);
        return false;
      },
      cooldown: () => Math.max(0, entry.cooldownEnd - now()),
    };
  }

  return {
    pick(conversation) {
      if (entries.length === 1 && only) return credential(only);
      const healthy = entries.filter(({ cooldownEnd }) => cooldownEnd <= now());
      const candidates = healthy.length > 0 ? healthy : entries;
      const [best] = candidates.toSorted((one, other) =>
        weight(conversation, other.index).localeCompare(weight(conversation, one.index)),
      );
      return credential(best ?? (only as (typeof entries)[number]));
    },
    find(id) {
      const entry = entries.find((candidate) => candidate.id === id);
      return entry && credential(entry);
    },
    all: () => entries.toSorted((one, other) => one.cooldownEnd - other.cooldownEnd).map(credential),
  };
}

/** Names with which AWS refuses keys, with 403; other refusals with 403 are mostly of permissions for one model. */
const REFUSED_KEYS = /^(ExpiredToken|InvalidSignature|UnrecognizedClient)/;
/** Name with which Azure refuses operations, with 401. */
const REFUSED_OPERATION = 'PermissionDenied';

/** Whether a refusal can be one of the age of a credential, which is then given up. */
export function isRenewedAfter(
  { upstreamStatus, upstreamCode = '' }: GatewayError,
  value: CredentialValue,
  sentAt: number | undefined,
): boolean {
  if (value.type === 'token') return upstreamStatus === 401 && value.source.refused(sentAt);
  if (value.type !== 'renewed') return false;
  const isOfOperation = upstreamStatus === 401 && upstreamCode === REFUSED_OPERATION;
  if ((upstreamStatus === 401 && !isOfOperation) || REFUSED_KEYS.test(upstreamCode))
    return value.source.refused(sentAt);
  if (upstreamStatus === 403 || isOfOperation) value.source.doubted();
  return false;
}

/** Whether a credential signs requests, with their time. */
function isSigning({ type }: CredentialValue): boolean {
  return type === 'key-pair' || type === 'renewed';
}

/** Records of video tasks hold it: the digest of a value may not change between versions. */
function digestOf(value: CredentialValue): string {
  return createHash('sha256')
    .update(`credential ${identityOf(value)}`)
    .digest('hex')
    .slice(0, 12);
}

function identityOf(value: CredentialValue): string {
  switch (value.type) {
    case 'none':
      return '';
    case 'key':
      return value.key;
    case 'key-pair':
      return `${value.id}:${value.secret}`;
    case 'headers':
      return `headers ${JSON.stringify(value.headers)}`;
    case 'token':
      return `token ${value.source.id}`;
    case 'renewed':
      return `identity ${value.source.id}`;
  }
}

/** Rendezvous hashing: when a credential is in cooldown, only its own conversations move. */
function weight(conversation: string, index: number): string {
  return createHash('sha256').update(`${index} ${conversation}`).digest('hex');
}
