/** Log: JSON lines, each redacted before it is written. */

import { type DestinationStream, type Logger, pino } from 'pino';

/** API keys of the gateway and of providers, webhook secrets, credentials in headers. */
const SECRET_PATTERNS = [
  /\b(?:sk|pk|rk|gsk|xai|whsec)[-_][A-Za-z0-9_*.+/=-]{6,}/g,
  /\bAIza[A-Za-z0-9_-]{10,}/g,
  /\b(?:Bearer|Basic)\s+[A-Za-z0-9_*.~+/=-]{6,}/g,
];
/** User, path and query of a URL may each contain a secret. */
const URL_PATTERN = /\b(https?:\/\/)(?:[^\s"'\\/@<>]*@)?([^\s"'\\/?#@<>]+)([/?#][^\s"'\\<>]*)?/gi;

/** Finds all that the patterns above match, and more: a line without it needs no redaction. */
const SUSPICION_PATTERN = /:\/\/|(?:k|xai|whsec)[-_]|AIza|B(?:earer|asic)/;

/** Removes secrets, and all of a URL but its scheme and host. */
export function redactLine(line: string): string {
  if (!SUSPICION_PATTERN.test(line)) return line;
  const plain = line.replace(URL_PATTERN, (_, scheme, host, rest) => scheme + host + (rest ? '/…' : ''));
  return SECRET_PATTERNS.reduce((clean, secret) => clean.replace(secret, '[redacted]'), plain);
}

/** `base` stands in each line. */
export function createLog(destination: DestinationStream, level = 'info', base?: Record<string, number>): Logger {
  return pino({ base, level, hooks: { streamWrite: redactLine } }, destination);
}

/** Logs the error that ends the process, e.g. of a callback of a socket or a timer, before Node prints it and exits. */
export function logLastError(log: Logger): void {
  process.on('uncaughtExceptionMonitor', (thrown, origin) => {
    const { message = String(thrown), stack } = (thrown ?? {}) as Partial<Error>;
    log.fatal({ error: message, origin, stack }, 'the process ends with an error that nothing caught');
  });
}
