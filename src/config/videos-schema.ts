/** Configuration schema: videos, their mirror, webhooks, DNS and encryption. */

import type { Static } from 'typebox';
import * as Type from 'typebox';
import { addressRange, duration, httpUrl, retentionPeriod, secretText, size } from './fields.ts';

/** Defaults, spelled as in the file. */
export const VIDEO_DEFAULTS = {
  timeout: '10s',
  maxSize: '2GiB',
  urlLifetime: '24h',
  keepMedia: '7d',
  keepRecords: '90d',
  expires: '24h',
  noticeShares: [0.8, 1],
  region: 'us-east-1',
};

const closed = { additionalProperties: false };

export const encryption = Type.Object(
  {
    key: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9+/_-]{43}=?$',
        errorMessage: 'must be 32 bytes as base64, e.g. from: openssl rand -base64 32',
        writeOnly: true,
        description: `Encryption key of stored secrets, usually "\${POLYGATE_ENCRYPTION_KEY}": 32 bytes as base64.`,
      }),
    ),
    previous_keys: Type.Optional(
      Type.Array(Type.String({ pattern: '^[A-Za-z0-9+/_-]{43}=?$', writeOnly: true }), {
        description: 'Earlier keys, which still decrypt.',
      }),
    ),
    key_file: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'File with the encryption key; by default encryption.key in the data folder, created at first start.',
      }),
    ),
  },
  { ...closed, description: 'Encryption of webhook secrets.' },
);

export const network = Type.Object(
  {
    dns_servers: Type.Optional(
      Type.Array(Type.String({ pattern: '^(\\d+\\.\\d+\\.\\d+\\.\\d+|\\[[0-9a-fA-F:]+\\])(:\\d{1,5})?$' }), {
        description: 'DNS servers for external names instead of the system’s, e.g. 10.0.0.2:53.',
      }),
    ),
    proxy: Type.Optional(
      Type.String({
        minLength: 1,
        writeOnly: true,
        description: `HTTP proxy to providers, usually "\${HTTPS_PROXY}", with user name and password if it asks for them. Absent means none.`,
      }),
    ),
    no_proxy: Type.Optional(
      Type.Array(Type.String(), {
        description: `Hosts reached without the proxy: names, with those below them, and addresses; several in one text are separated by commas, as in "\${NO_PROXY}".`,
      }),
    ),
  },
  { ...closed, description: 'Name resolution of external addresses, and the proxy to providers.' },
);

export const callbacks = Type.Object(
  {
    secret: Type.Optional(secretText('Webhook secret of API keys without their own, such as those in this file.')),
    allow_cidrs: Type.Optional(
      Type.Array(addressRange(), {
        description: 'Private addresses that webhook receivers may have. Empty by default.',
      }),
    ),
    allow_hosts: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        description: 'Names of receivers whose addresses are not checked. Empty by default.',
      }),
    ),
    deny_cidrs: Type.Optional(
      Type.Array(addressRange(), {
        description: 'Additional addresses to refuse, also within allow_cidrs, but not those of allow_hosts.',
      }),
    ),
    ca_file: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'PEM file of a certificate authority to trust in addition to the public ones.',
      }),
    ),
    timeout: Type.Optional(duration('Timeout of one delivery attempt, 1s to 30s.', VIDEO_DEFAULTS.timeout)),
    honor_retry_after: Type.Optional(
      Type.Boolean({ default: false, description: 'Honor the retry-after of a receiver, at most 10 minutes.' }),
    ),
    standard_headers: Type.Optional(
      Type.Boolean({ default: true, description: 'Also send the headers of Standard Webhooks.' }),
    ),
  },
  { ...closed, description: 'Webhook delivery and allowed receivers.' },
);

export const notices = Type.Object(
  {
    webhook: Type.String({
      minLength: 1,
      maxLength: 2048,
      writeOnly: true,
      description:
        'https address of the receiver, by the rules of callbacks. Signed with callbacks.secret, which is needed.',
    }),
    at: Type.Optional(
      Type.Array(Type.Number({ exclusiveMinimum: 0, maximum: 1 }), {
        minItems: 1,
        maxItems: 10,
        uniqueItems: true,
        default: VIDEO_DEFAULTS.noticeShares,
        description: 'Shares of a budget at which there is a notice, above 0 and up to 1.',
      }),
    ),
  },
  { ...closed, description: 'Webhooks to the operator: budgets, exhausted deliveries, faults of the store.' },
);

export const s3 = Type.Object(
  {
    endpoint: httpUrl('URL of the object store, e.g. https://s3.eu-central-1.amazonaws.com.'),
    region: Type.Optional(Type.String({ minLength: 1, default: VIDEO_DEFAULTS.region, description: 'Region.' })),
    bucket: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$', description: 'Name of the bucket.' }),
    prefix: Type.Optional(Type.String({ description: 'Prefix of object names, e.g. polygate/.' })),
    access_key_id: Type.String({ minLength: 1, description: `Usually "\${S3_ACCESS_KEY_ID}".` }),
    secret_access_key: Type.String({
      minLength: 1,
      writeOnly: true,
      description: `Usually "\${S3_SECRET_ACCESS_KEY}".`,
    }),
    path_style: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'Use path-style addresses, with the bucket in the path instead of the host name.',
      }),
    ),
  },
  { ...closed, description: 'An S3-compatible store.' },
);

export const videos = Type.Object(
  {
    mirror: Type.Optional(
      Type.Union([Type.Literal('local'), Type.Literal('s3'), Type.Literal('off')], {
        default: 'local',
        description: 'Where finished videos are kept: in the data folder, in an S3-compatible store, or not at all.',
      }),
    ),
    s3: Type.Optional(s3),
    max_size: Type.Optional(size('Maximum size of a mirrored video.', VIDEO_DEFAULTS.maxSize)),
    url_lifetime: Type.Optional(retentionPeriod('Lifetime of signed URLs, at most 7d.', VIDEO_DEFAULTS.urlLifetime)),
    keep_media: Type.Optional(retentionPeriod('How long mirrored videos are kept.', VIDEO_DEFAULTS.keepMedia)),
    keep_records: Type.Optional(retentionPeriod('How long ended tasks are kept.', VIDEO_DEFAULTS.keepRecords)),
    expires: Type.Optional(
      retentionPeriod('Time after which an unfinished task expires, at most 48h.', VIDEO_DEFAULTS.expires),
    ),
    expose_upstream_urls: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'Show public result URLs of upstreams; if false, unsigned_urls has URLs of the gateway.',
      }),
    ),
    dedupe_window: Type.Optional(
      duration('Equal requests of a key within this time return the same task. Off by default.'),
    ),
  },
  { ...closed, description: 'How videos are made and kept.' },
);

export type EncryptionEntry = Static<typeof encryption>;
export type NetworkEntry = Static<typeof network>;
export type NoticesEntry = Static<typeof notices>;
export type CallbacksEntry = Static<typeof callbacks>;
export type S3Entry = Static<typeof s3>;
export type VideosEntry = Static<typeof videos>;
