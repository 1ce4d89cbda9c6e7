/** Failures of outgoing requests, by cause. */

import { GatewayError } from '../core/errors.ts';

/** `local` is a fault of this machine (no descriptors, no ports); the others are faults of the address, `busy` a passing one that it tells. */
export type FetchOutcome =
  | 'blocked'
  | 'dns'
  | 'connect'
  | 'tls'
  | 'timeout'
  | 'protocol'
  | 'status'
  | 'busy'
  | 'too-large'
  | 'local';

/** One message for all failures before a response, so that callers cannot probe the servers of a network. */
const UNREACHABLE_MESSAGE = 'The address did not answer properly over the public internet.';

/** The message is for the caller; `outcome` and `cause` are for the operator. */
export class FetchFailure extends GatewayError {
  readonly outcome: FetchOutcome;

  constructor(outcome: FetchOutcome, message: string = UNREACHABLE_MESSAGE, cause?: unknown) {
    super(outcome === 'local' ? 'unavailable' : 'invalid_request', message, { cause });
    this.name = 'FetchFailure';
    this.outcome = outcome;
  }
}

const LOCAL_CODES = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL']);
const CONNECT_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'ETIMEDOUT',
  'EACCES',
  'EPERM',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_SOCKET',
]);
const TLS_CODE_PATTERN =
  /^(ERR_TLS_|ERR_SSL_|CERT_|CRL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|EPROTO$|INVALID_CA$|HOSTNAME_MISMATCH$)/;

/** Maps errors of sockets, TLS and the HTTP parser. */
export function toFetchFailure(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new FetchFailure(outcomeOf(thrown), UNREACHABLE_MESSAGE, thrown);
}

/** Whether this machine lacks descriptors, ports or memory; nothing was sent. */
export function isLocalFailure(thrown: unknown): boolean {
  return LOCAL_CODES.has(codeOf(thrown));
}

function outcomeOf(thrown: unknown): FetchOutcome {
  const code = codeOf(thrown);
  if (isLocalFailure(thrown)) return 'local';
  if (CONNECT_CODES.has(code)) return 'connect';
  return TLS_CODE_PATTERN.test(code) ? 'tls' : 'protocol';
}

/** Connection attempts to several addresses fail as one aggregate error. */
function codeOf(thrown: unknown): string {
  const { code, errors } = thrown as { code?: unknown; errors?: unknown[] };
  if (typeof code === 'string') return code;
  return errors?.[0] === undefined ? '' : codeOf(errors[0]);
}
