/** W3C Trace Context: parsing, formatting and forwarding of its headers. */

import type { RequestHead, RequestObserver } from './observer.ts';

export interface TraceParent {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
  flags: number;
}

const TRACEPARENT_PATTERN = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const MAX_TRACESTATE_CHARACTERS = 512;

/** Undefined for a missing or invalid header. */
export function parseTraceparent(header: string | undefined): TraceParent | undefined {
  const [, traceId, spanId, flags = '00'] = TRACEPARENT_PATTERN.exec(header?.trim() ?? '') ?? [];
  return traceId && spanId ? { traceId, spanId, flags: Number.parseInt(flags, 16) } : undefined;
}

/** Value of the header `traceparent`. */
export function formatTraceparent({ traceId, spanId, flags }: TraceParent): string {
  return `00-${traceId}-${spanId}-${(flags & 1).toString(16).padStart(2, '0')}`;
}

/** The `tracestate` of the caller, if it is short and `traceparent` is valid. */
export function tracestateOf({ traceparent, tracestate }: RequestHead): string | undefined {
  const usable = tracestate && tracestate.length <= MAX_TRACESTATE_CHARACTERS && /^[\x20-\x7e]+$/.test(tracestate);
  return usable && parseTraceparent(traceparent) ? tracestate : undefined;
}

/** Forwards the trace context of the caller unchanged, for a gateway without a collector. */
export const traceContextForwarder: RequestObserver = {
  begin(head) {
    const parent = parseTraceparent(head.traceparent);
    const state = tracestateOf(head);
    const headers = { ...(parent && { traceparent: formatTraceparent(parent) }), ...(state && { tracestate: state }) };
    return { attemptStarting: () => headers, callEnded() {}, requestEnded() {} };
  },
};
