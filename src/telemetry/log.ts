/** The log: JSON lines of typed fields, and a last look at each for what must never stand in it. */

import { type DestinationStream, type Logger, pino } from 'pino';

/** Keys of ours and of providers, webhook secrets, credentials in headers. */
const SECRET_PATTERNS = [
  /\b(?:sk|pk|rk|gsk|xai|whsec)[-_][A-Za-z0-9_*.+/=-]{6,}/g,
  /\bAIza[A-Za-z0-9_-]{10,}/g,
  /\b(?:Bearer|Basic)\s+[A-Za-z0-9_*.~+/=-]{6,}/g,
];
/** User, path and query of an address may each be a secret of whoever gave it to us. */
const URL_PATTERN = /\b(https?:\/\/)(?:[^\s"'\\/@<>]*@)?([^\s"'\\/?#@<>]+)([/?#][^\s"'\\<>]*)?/gi;

/** Lines without secrets, and with no more of an address than its host. */
export function redactLine(line: string): string {
  const plain = line.replace(URL_PATTERN, (_, scheme, host, rest) => scheme + host + (rest ? '/…' : ''));
  return SECRET_PATTERNS.reduce((clean, secret) => clean.replace(secret, '[redacted]'), plain);
}

export function createLog(destination: DestinationStream, level = 'info'): Logger {
  return pino({ base: undefined, level, hooks: { streamWrite: redactLine } }, destination);
}
