/** Resolved settings of videos, their mirror, webhooks, DNS and encryption. */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { GatewayError } from '../core/errors.ts';
import { withoutEnd } from '../core/text.ts';
import { createAddressPolicy } from '../net/address-policy.ts';
import { checkUrl } from '../net/check-url.ts';
import { createHttpProxy } from '../net/http-proxy.ts';
import { isRange } from '../net/ip-address.ts';
import { Secret } from '../security/secret.ts';
import type { NetworkConfig } from './network.ts';
import type {
  CallbacksConfig,
  EncryptionConfig,
  MirrorConfig,
  NoticesConfig,
  S3Config,
  VideosConfig,
} from './resolved.ts';
import { formatDuration, parseDuration, parseSize } from './units.ts';
import {
  type CallbacksEntry,
  VIDEO_DEFAULTS as DEFAULTS,
  type EncryptionEntry,
  type NetworkEntry,
  type NoticesEntry,
  type S3Entry,
  type VideosEntry,
} from './videos-schema.ts';

export type ReportProblem = (path: string, message: string) => void;

const SECOND_MS = 1000;
const HOUR_MS = 3600 * SECOND_MS;
const DAY_MS = 24 * HOUR_MS;

export function resolveEncryption(entry: EncryptionEntry, report: ReportProblem): EncryptionConfig {
  if (entry.key && entry.key_file) report('encryption.key_file', 'conflicts with key; set only one of them');
  const keys = [...(entry.key ? [entry.key] : []), ...(entry.previous_keys ?? [])];
  if (!entry.key && keys.length > 0) report('encryption.previous_keys', 'requires key');
  return {
    keys: keys.map((key) => new Secret(key)),
    keyFile: entry.key_file ? resolve(entry.key_file) : undefined,
  };
}

export function resolveNetwork(entry: NetworkEntry, report: ReportProblem): NetworkConfig {
  for (const [index, server] of (entry.dns_servers ?? []).entries()) {
    const [, address = '', port = '53'] = /^\[?(.+?)\]?(?::(\d+))?$/.exec(server) ?? [];
    if (!isRange(address) || Number(port) > 65535)
      report(`network.dns_servers[${index}]`, 'must be an address such as 10.0.0.2, 10.0.0.2:53 or [fd00::2]:53');
  }
  const withPort = (server: string) => (/:\d+$/.test(server) && !server.endsWith(']') ? server : `${server}:53`);
  const { proxy: url, no_proxy: direct = [] } = entry;
  if (url !== undefined && !isProxyUrl(url))
    report('network.proxy', 'must be an http:// or https:// URL without a path, such as http://proxy.example:3128');
  if (url === undefined && entry.no_proxy) report('network.no_proxy', 'is for network.proxy, which is not set');
  const hosts = direct.flatMap(listedHosts);
  for (const host of hosts)
    if (host.includes('/') && !isRange(host))
      report('network.no_proxy', `has "${host}", which is no host and no range`);
  return {
    dnsServers: (entry.dns_servers ?? []).map(withPort),
    proxy: url === undefined ? undefined : createHttpProxy(new Secret(url), hosts),
  };
}

function isProxyUrl(text: string): boolean {
  const url = URL.parse(text);
  return /^https?:$/.test(url?.protocol ?? '') && url?.pathname === '/' && url.search === '' && url.hash === '';
}

function listedHosts(text: string): string[] {
  return text.split(/[\s,]+/).filter((host) => host !== '');
}

/** Verifying libraries take what follows `whsec_` as base64, and all secrets that decode to nothing are the same. */
const UNREADABLE_SECRET = /^whsec_(?![A-Za-z0-9+/_-]+={0,2}$)/;

export function resolveCallbacks(entry: CallbacksEntry, report: ReportProblem): CallbacksConfig {
  if (UNREADABLE_SECRET.test(entry.secret ?? ''))
    report('callbacks.secret', 'must have base64 after whsec_, as of `openssl rand -base64 32`');
  return {
    secret: entry.secret ? new Secret(entry.secret) : undefined,
    allowCidrs: entry.allow_cidrs ?? [],
    allowHosts: entry.allow_hosts ?? [],
    denyCidrs: entry.deny_cidrs ?? [],
    ca: entry.ca_file ? readCertificate(entry.ca_file, report) : undefined,
    timeout: parseBoundedDuration(entry.timeout ?? DEFAULTS.timeout, {
      path: 'callbacks.timeout',
      least: SECOND_MS,
      most: 30 * SECOND_MS,
      words: '1s to 30s',
      report,
    }),
    honorRetryAfter: entry.honor_retry_after ?? false,
    standardHeaders: entry.standard_headers ?? true,
  };
}

export function resolveNotices(
  { webhook, at }: NoticesEntry,
  callbacks: CallbacksEntry,
  report: ReportProblem,
): NoticesConfig | undefined {
  if (!callbacks.secret) report('notices.webhook', 'needs callbacks.secret, which signs it');
  try {
    checkUrl(webhook, createAddressPolicy({ allowCidrs: callbacks.allow_cidrs, allowHosts: callbacks.allow_hosts }));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    report('notices.webhook', `is refused: ${error.message} callbacks.allow_cidrs and allow_hosts allow others`);
  }
  return {
    webhook: new Secret(webhook),
    secret: new Secret(callbacks.secret ?? ''),
    at: [...(at ?? DEFAULTS.noticeShares)].sort((one, other) => one - other),
  };
}

export function resolveVideos(entry: VideosEntry, report: ReportProblem): VideosConfig {
  const time = (name: 'url_lifetime' | 'expires', most: number, defaultValue: string) =>
    parseBoundedDuration(entry[name] ?? defaultValue, {
      path: `videos.${name}`,
      least: HOUR_MS,
      most,
      words: `1h to ${formatDuration(most)}`,
      report,
    });
  return {
    mirror: resolveMirror(entry, report),
    maxSize: parseSize(entry.max_size ?? DEFAULTS.maxSize) as number,
    urlLifetimeMs: time('url_lifetime', 7 * DAY_MS, DEFAULTS.urlLifetime),
    keepMediaMs: parseDuration(entry.keep_media ?? DEFAULTS.keepMedia) as number,
    keepRecordsMs: parseDuration(entry.keep_records ?? DEFAULTS.keepRecords) as number,
    expiresAfterMs: time('expires', 2 * DAY_MS, DEFAULTS.expires),
    exposeUpstreamUrls: entry.expose_upstream_urls ?? true,
    dedupeWindowMs: entry.dedupe_window ? parseDuration(entry.dedupe_window) : undefined,
  };
}

function resolveMirror({ mirror = 'local', s3 }: VideosEntry, report: ReportProblem): MirrorConfig {
  if (mirror !== 's3') {
    if (s3) report('videos.s3', 'has no effect; set mirror: s3');
    return { type: mirror ?? 'local' };
  }
  if (!s3) {
    report('videos.s3', 'is needed for mirror: s3');
    return { type: 'off' };
  }
  return { type: 's3', ...resolveS3(s3) };
}

export function resolveS3(s3: S3Entry): S3Config {
  return {
    endpoint: withoutEnd(s3.endpoint, '/'),
    region: s3.region ?? DEFAULTS.region,
    bucket: s3.bucket,
    prefix: s3.prefix ?? '',
    accessKeyId: s3.access_key_id,
    secretAccessKey: new Secret(s3.secret_access_key),
    pathStyle: s3.path_style ?? true,
  };
}

function readCertificate(file: string, report: ReportProblem): string | undefined {
  try {
    const text = readFileSync(resolve(file), 'utf8');
    if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
    report('callbacks.ca_file', `${file} holds no PEM certificate`);
  } catch (error) {
    report('callbacks.ca_file', `${file}: ${(error as Error).message}`);
  }
  return undefined;
}

interface DurationRange {
  path: string;
  least: number;
  most: number;
  words: string;
  report: ReportProblem;
}

function parseBoundedDuration(text: string, { path, least, most, words, report }: DurationRange): number {
  const value = parseDuration(text) as number;
  if (value < least || value > most) report(path, `must be ${words}`);
  return value;
}
