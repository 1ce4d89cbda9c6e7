/** Model `faulty`: fails as the user message asks, to test clients and gateways. */

import { type SandboxAnswer, textAnswer } from './answer.ts';
import type { SandboxRequest } from './request.ts';

export type SandboxFault =
  | { type: 'none' }
  | { type: 'status'; status: number }
  | { type: 'hang' }
  | { type: 'garbage' }
  | { type: 'empty' }
  | { type: 'error-in-200' }
  /** Breaks the stream after this number of chunks. */
  | { type: 'break'; after: number; how: StreamBreak };

export type StreamBreak = 'cut' | 'end' | 'hang' | 'error';

export interface FaultScript {
  fault: SandboxFault;
  /** Milliseconds before the first byte. */
  slow: number;
  /** Milliseconds between chunks. */
  pause: number;
}

const MAX_DELAY_MS = 600_000;

const STREAM_BREAKS: Record<string, StreamBreak> = { cut: 'cut', end: 'end', hang: 'hang', 'error in stream': 'error' };

/** Parses the fault and the delays that a text asks for. */
export function scriptOf(text: string): FaultScript {
  return { fault: faultIn(text), slow: delayIn(text, SLOW_PATTERN), pause: delayIn(text, PAUSE_PATTERN) };
}

function faultIn(text: string): SandboxFault {
  const status = /\bstatus ([45]\d\d)\b/i.exec(text)?.[1];
  if (status) return { type: 'status', status: Number(status) };
  const [, word = '', after] = /\b(cut|end|hang|error in stream) after (\d{1,6})\b/i.exec(text) ?? [];
  const how = STREAM_BREAKS[word.toLowerCase()];
  if (how) return { type: 'break', after: Number(after), how };
  if (/\berror in 200\b/i.test(text)) return { type: 'error-in-200' };
  if (/\bhang\b/i.test(text)) return { type: 'hang' };
  if (/\bgarbage\b/i.test(text)) return { type: 'garbage' };
  if (/\bempty\b/i.test(text)) return { type: 'empty' };
  return { type: 'none' };
}

const SLOW_PATTERN = /\bslow (\d+(?:\.\d+)?) ?(ms|s)\b/i;
const PAUSE_PATTERN = /\bpause (\d+(?:\.\d+)?) ?(ms|s)\b/i;

function delayIn(text: string, delay: RegExp): number {
  const [, amount, unit] = delay.exec(text) ?? [];
  return amount === undefined ? 0 : Math.min(MAX_DELAY_MS, Number(amount) * (unit?.toLowerCase() === 's' ? 1000 : 1));
}

/** The answer text, sent as far as the fault allows. */
export function faulty(request: SandboxRequest): SandboxAnswer {
  const { fault, slow, pause } = scriptOf(request.text);
  const understood = fault.type !== 'none' || slow > 0 || pause > 0;
  return textAnswer(understood ? 'Nothing else goes wrong in this answer of the sandbox.' : HELP_TEXT, request);
}

const HELP_TEXT = `I fail on request. Write one of these words:
status 429 (or any other from 400 to 599): this error
hang: no answer at all
slow 2s: a wait before the first byte
pause 500ms: a wait between chunks
cut after 3: the connection breaks after 3 chunks
end after 3: the stream ends early after 3 chunks
hang after 3: silence after 3 chunks
error in stream after 3: an error event after 3 chunks
error in 200: an error with the status of success
garbage: HTML with the status of success
empty: no body with the status of success`;
