/**
 * Opaque provider state in clients of another protocol: wrapped in an envelope that names its owner,
 * and never sent to another provider. The envelope is base64 text, which every carrier field of every protocol accepts.
 */

import type { Opaque } from './chat.ts';

/** Every envelope starts with these bytes: base64 of `{"polygate":`. */
export const ENVELOPE_MARK = 'eyJwb2x5Z2F0ZSI6';

/** The envelope of `opaque` for another protocol. */
export function wrap(opaque: Opaque): string {
  const envelope = { polygate: 1, kind: opaque.kind, origin: opaque.origin ?? '', value: opaque.value };
  return Buffer.from(JSON.stringify(envelope)).toString('base64');
}

/** Whether a text begins like an envelope; its content is not checked. */
export function isEnvelope(text: string): boolean {
  return text.startsWith(ENVELOPE_MARK);
}

/** The content of an envelope; undefined for other text, such as state in the client's own protocol. */
export function unwrap(text: unknown): Opaque | undefined {
  if (typeof text !== 'string' || !isEnvelope(text)) return undefined;
  try {
    const { kind, origin, value } = JSON.parse(Buffer.from(text, 'base64').toString('utf8'));
    if (typeof value !== 'string' || typeof origin !== 'string') return undefined;
    if (kind !== 'signature' && kind !== 'redacted' && kind !== 'encrypted') return undefined;
    return { kind, value, origin };
  } catch {
    return undefined;
  }
}

/** The state if it belongs to `origin`; undefined if it must not be sent there. */
export function ownState(opaque: Opaque | undefined, origin: string): Opaque | undefined {
  return opaque?.origin === origin ? opaque : undefined;
}
