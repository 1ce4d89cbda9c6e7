/** Redaction of captures, and of errors of upstreams: credentials are replaced by name, by place and by value. */

import { type CredentialValue, hasKey, maskSecrets, withoutKey } from '../../core/credential.ts';
import { GatewayError } from '../../core/errors.ts';

/** Takes the place of a value that is not shown. */
const REPLACED = '***';
/** Headers whose values are shown; an unknown header can hold a credential. */
const SHOWN = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'retry-after',
  'retry-after-ms',
  'server',
  'trailer',
  'transfer-encoding',
  'user-agent',
  'vary',
  'anthropic-beta',
  'anthropic-version',
  'openai-beta',
  'openai-processing-ms',
  'openai-version',
  'request-id',
  'x-goog-api-client',
  'x-request-id',
  'x-session-id',
  'x-should-retry',
]);
const SHOWN_STARTS = ['x-polygate-', 'x-ratelimit-', 'anthropic-ratelimit-', 'sec-fetch-'];
/** Query parameters whose values are shown. */
const SHOWN_PARAMETERS = new Set(['alt', 'api-version', 'beta']);

type HeaderValues = Readonly<Record<string, string | string[] | undefined>>;

/**
 * `plain` are the headers before the authorization; headers that the authorization set are not shown. `secrets` are masked in
 * those that are.
 */
export function redactHeaders(
  headers: HeaderValues,
  { plain = headers, secrets = [] }: { plain?: HeaderValues; secrets?: readonly Buffer[] } = {},
): Record<string, string> {
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [[name.toLowerCase(), isShown(name) && plain[name] === value ? masked(String(value), secrets) : REPLACED]],
  );
  return Object.fromEntries(entries);
}

function masked(text: string, secrets: readonly Buffer[]): string {
  const bytes = Buffer.from(text);
  maskSecrets(bytes, secrets);
  return bytes.toString();
}

function isShown(name: string): boolean {
  const lower = name.toLowerCase();
  return SHOWN.has(lower) || SHOWN_STARTS.some((start) => lower.startsWith(start));
}

/** Removes the user information of a URL, and replaces the values of unknown query parameters. */
export function redactUrl(text: string): string {
  if (!URL.canParse(text)) return REPLACED;
  const url = new URL(text);
  const { protocol, host, pathname, search } = url;
  return `${protocol}${host === '' ? '' : `//${host}`}${redactTarget(pathname + search)}`;
}

/** Replaces the values of unknown query parameters in the target of a request line. */
export function redactTarget(target: string): string {
  const mark = target.indexOf('?');
  if (mark < 0) return target;
  const query = target
    .slice(mark + 1)
    .split('&')
    .map((pair) => {
      const [name = ''] = pair.split('=', 1);
      return SHOWN_PARAMETERS.has(name) || !pair.includes('=') ? pair : `${name}=${REPLACED}`;
    });
  return `${target.slice(0, mark)}?${query.join('&')}`;
}

/** Values of the headers of a request to an upstream that are not shown, or that its authorization has set. */
export function hiddenValues(
  headers: Readonly<Record<string, string>>,
  plain: Readonly<Record<string, string>>,
): string[] {
  return Object.entries(headers)
    .filter(([name, value]) => !isShown(name) || plain[name] !== value)
    .map(([, value]) => value);
}

/** The error without the key that the upstream was asked with, which may have no form by which `redact` knows one. */
export function withoutCredential(error: GatewayError, credential: CredentialValue): GatewayError {
  const { code, message, param, upstreamResponse, cause } = error;
  const clean = withoutKey(message, credential);
  const cleanParam = param === undefined ? undefined : withoutKey(param, credential);
  const isInBody = upstreamResponse !== undefined && hasKey(upstreamResponse.body, credential);
  if (clean === message && cleanParam === param && !isInBody) return error;
  return new GatewayError(code, clean, { ...error, param: cleanParam, cause, upstreamResponse: undefined });
}
