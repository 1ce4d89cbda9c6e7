/** Trace context in HTTP headers, as W3C Trace Context has it. */

import type { RequestHead, Watch } from './watch.ts';

export interface TraceParent {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
  flags: number;
}

const PARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const LONGEST_STATE = 512;

/** Undefined for a header that is none, which starts a trace of our own. */
export function readParent(header: string | undefined): TraceParent | undefined {
  const [, traceId, spanId, flags = '00'] = PARENT.exec(header?.trim() ?? '') ?? [];
  return traceId && spanId ? { traceId, spanId, flags: Number.parseInt(flags, 16) } : undefined;
}

export function writeParent({ traceId, spanId, flags }: TraceParent): string {
  return `00-${traceId}-${spanId}-${(flags & 1).toString(16).padStart(2, '0')}`;
}

/** The caller's vendors' part; only beside a valid parent, and not a long one. */
export function stateOf({ traceparent, tracestate }: RequestHead): string | undefined {
  const usable = tracestate && tracestate.length <= LONGEST_STATE && /^[\x20-\x7e]+$/.test(tracestate);
  return usable && readParent(traceparent) ? tracestate : undefined;
}

/** Hands the caller's context on as it came, where the gateway takes no part in traces itself. */
export const passOn: Watch = {
  begin(head) {
    const parent = readParent(head.traceparent);
    const state = stateOf(head);
    const headers = { ...(parent && { traceparent: writeParent(parent) }), ...(state && { tracestate: state }) };
    return { attempt: () => headers, called() {}, ended() {} };
  },
};
