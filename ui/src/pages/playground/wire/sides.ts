/** Sides of the gateway as columns: what was sent and what came back, to the client and to an upstream. */

import { carriedBy, type WireFrame } from '../../../wire/frames.ts';
import type { Capture, CapturedBody } from '../capture.ts';
import type { Run } from '../run.ts';

export interface Side {
  title: string;
  protocol: string;
  /** Request line or status. */
  line: string;
  /** Milliseconds since the beginning. */
  ms?: number;
  /** Address of a request, which can stand for members of its body. */
  url?: string | null;
  headers: Record<string, string>;
  /** Headers after the body. */
  trailers?: Record<string, string> | undefined;
  /** Null where this reader may not see it. */
  body: CapturedBody | null;
}

export type Sending = Capture['upstream'][number];

export type Content =
  | { kind: 'json'; value: unknown }
  | { kind: 'frames'; frames: readonly WireFrame[] }
  | { kind: 'text'; text: string }
  | { kind: 'hidden' };

export function contentOf(body: CapturedBody | null): Content {
  if (!body) return { kind: 'hidden' };
  if (body.frames) return { kind: 'frames', frames: body.frames };
  const text = body.text ?? body.base64 ?? '';
  try {
    return { kind: 'json', value: JSON.parse(text) };
  } catch {
    return { kind: 'text', text };
  }
}

export function sentSide({ request, protocol }: Capture, title = 'What you sent'): Side {
  const { method, url, headers, body } = request;
  return { title, protocol, line: `${method} ${url}`, url, headers, body };
}

export function gotSide({ response, protocol }: Capture, title = 'What you got'): Side | undefined {
  if (!response) return undefined;
  const { status, head_ms: ms, headers, body, trailers } = response;
  return { trailers, title, protocol, line: `Status ${status}`, ms, headers, body };
}

export function upstreamSide({ request, protocol, sent_ms: ms }: Sending): Side {
  const { method, url, headers, body } = request;
  const line = url === null ? `${method}, at an address that operators know` : `${method} ${url}`;
  return { title: 'What went upstream', protocol, line, ms, url, headers, body };
}

export function cameBackSide({ response, protocol }: Sending): Side | undefined {
  if (!response) return undefined;
  const { status, head_ms: ms, headers, body, trailers } = response;
  return { trailers, title: 'What came back', protocol, line: `Status ${status}`, ms, headers, body };
}

/** The two sides that a browser knows by itself. */
export function ownSides({ sent, wire, frames }: Run): { sent: Side; got: Side } {
  const text = JSON.stringify(sent.body);
  const whole = frames.length === 1 && !frames[0]?.text.startsWith('data:') ? frames[0]?.text : undefined;
  const about = { protocol: wire, headers: {} };
  const bytes = frames.reduce((sum, frame) => sum + frame.text.length, 0);
  const answered = whole === undefined ? { frames: [...frames] } : { text: whole };
  return {
    sent: {
      ...about,
      title: 'What you sent',
      line: `POST ${sent.path}`,
      url: sent.path,
      body: { bytes: text.length, truncated: false, text },
    },
    got: { ...about, title: 'What you got', line: '', body: { bytes, truncated: false, ...answered } },
  };
}

/** Text that a frame carries, of whatever kind. */
export function carriedText(protocol: string, frame: WireFrame): string {
  const { text = '', reasoning = '', tool = '' } = carriedBy(protocol, frame.text);
  return text + reasoning + tool;
}
