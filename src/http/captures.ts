/** Captures of sessions: in memory, few and for some minutes, and for the session that asked for them. */

import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { Capture, type CapturedExchange, MAX_CAPTURE_BYTES } from '../inference/capture/capture.ts';
import { TextBody } from './http-response.ts';
import type { RequestContext } from './request-context.ts';
import type { BrowserSession } from './sessions/sessions.ts';

/** Header by which a page asks for a capture, and by which it learns its id. */
const CAPTURE_HEADER = 'x-polygate-capture';

const MAX_PER_SESSION = 50;
const KEPT_MS = 15 * 60_000;
const SWEEP_MS = 60_000;
/** Limit over all sessions; a running capture counts as `MAX_CAPTURE_BYTES`. */
const MAX_BYTES = 64 * MAX_CAPTURE_BYTES;
const TAG_CHARACTERS = 8;
const ID_PATTERN = /^cap_([0-9a-f]{8})_[0-9a-f]{32}$/;

/** A capture that is looked for. */
export interface AskedCapture {
  id: string;
  /** Id of the session that asks. */
  session: string;
}

export interface CapturesOptions {
  clock: Pick<Clock, 'now' | 'monotonic' | 'after'>;
  /** Instance id of the gateway, which its workers share. Absent if the gateway is one process. */
  instance?: string | undefined;
  /** Asks the other processes of the gateway; undefined if none has it. */
  askOthers?: ((asked: AskedCapture) => Promise<string | undefined>) | undefined;
}

export interface Captures {
  /** Begins the capture of a request of a session; undefined if it asks for none. */
  begin(context: RequestContext): Capture | undefined;
  /** JSON text, if this process has it. */
  find(asked: AskedCapture): string | undefined;
  /** JSON text. Throws `not_found`. */
  read(id: string, session: BrowserSession | undefined): Promise<string>;
}

interface Entry {
  session: string;
  bytes: number;
  capture: Capture;
  /** JSON text and its expiry, in milliseconds of the monotonic clock; absent while the request runs. */
  kept?: { text: string; until: number };
}

export function createCaptures({ clock, instance, askOthers }: CapturesOptions): Captures {
  const tag = instance === undefined ? randomBytes(TAG_CHARACTERS / 2).toString('hex') : tagOf(instance);
  /** By id, the oldest first. */
  const entries = new Map<string, Entry>();
  let bytes = 0;
  let isSweeping = false;

  function remove(id: string): void {
    const entry = entries.get(id);
    if (!entry) return;
    entries.delete(id);
    bytes -= entry.bytes;
    entry.capture.giveUp();
  }

  function keep(id: string, exchange: CapturedExchange | undefined): void {
    const entry = entries.get(id);
    if (!entry) return;
    if (!exchange) {
      remove(id);
      return;
    }
    const text = JSON.stringify({ data: exchange });
    bytes += text.length - entry.bytes;
    entry.bytes = text.length;
    entry.kept = { text, until: clock.monotonic() + KEPT_MS };
  }

  function sweep(): void {
    const now = clock.monotonic();
    for (const [id, { kept }] of entries) if (kept && kept.until <= now) remove(id);
  }

  function sweepLater(): void {
    isSweeping = entries.size > 0;
    if (!isSweeping) return;
    clock.after(
      SWEEP_MS,
      () => {
        sweep();
        sweepLater();
      },
      { background: true },
    );
  }

  function makeRoom(session: string): void {
    sweep();
    const own = [...entries].filter(([, entry]) => entry.session === session);
    for (const [id] of own.slice(0, Math.max(0, own.length - MAX_PER_SESSION + 1))) remove(id);
    for (const [id] of entries) {
      if (bytes + MAX_CAPTURE_BYTES <= MAX_BYTES) break;
      remove(id);
    }
  }

  function begin(context: RequestContext): Capture | undefined {
    const { session, request, protocol, requestId, headers, response } = context;
    if (!session || request.headers[CAPTURE_HEADER] !== '1') return undefined;
    makeRoom(session.id);
    const id = `cap_${tag}_${randomBytes(16).toString('hex')}`;
    const capture = new Capture(
      {
        id,
        requestId,
        protocol: protocol.id,
        method: request.method,
        target: request.url,
        headers: request.headers,
        isForOperators: session.role !== 'key',
        clock,
      },
      (exchange) => keep(id, exchange),
    );
    entries.set(id, { session: session.id, bytes: MAX_CAPTURE_BYTES, capture });
    bytes += MAX_CAPTURE_BYTES;
    headers.setCapture(id);
    response.on('close', () => capture.complete());
    if (!isSweeping) sweepLater();
    return capture;
  }

  function find({ id, session }: AskedCapture): string | undefined {
    const entry = entries.get(id);
    if (!entry?.kept || entry.session !== session || entry.kept.until <= clock.monotonic()) return undefined;
    return entry.kept.text;
  }

  async function read(id: string, session: BrowserSession | undefined): Promise<string> {
    const asked = { id, session: session?.id ?? '' };
    const found = find(asked) ?? (await askOthers?.(asked));
    if (found !== undefined) return found;
    const other = ID_PATTERN.exec(id)?.[1];
    throw other === undefined || other === tag ? unknown() : elsewhere(other, tag);
  }

  return { begin, find, read };
}

/** Throws `not_found`, also where there are no captures. */
export async function readCapture(
  captures: Captures | undefined,
  id: string,
  session: BrowserSession | undefined,
): Promise<TextBody> {
  if (!captures) throw new GatewayError('not_found', 'There are no captures: ui.capture is off.', { param: 'id' });
  return new TextBody(await captures.read(id, session), { 'content-type': 'application/json; charset=utf-8' });
}

/** The workers of a gateway have its instance, and a number. */
function tagOf(instance: string): string {
  const [gateway = ''] = instance.split('/', 1);
  return createHash('sha256').update(gateway).digest('hex').slice(0, TAG_CHARACTERS);
}

function unknown(): GatewayError {
  const message =
    'This session has no capture with this id: captures are kept for 15 minutes, the last 50 of a session, and until the gateway stops.';
  return new GatewayError('not_found', message, { param: 'id' });
}

function elsewhere(other: string, tag: string): GatewayError {
  const message = `A capture is in the memory of the gateway that served the request. This one is ${tag}; the id names ${other}, which may have stopped. Ask again to reach another gateway.`;
  return new GatewayError('not_found', message, { param: 'id' });
}
