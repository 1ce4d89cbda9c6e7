/** One request of the playground to one model over one protocol: its frames as they come. */

import { EventSourceParserStream } from 'eventsource-parser/stream';
import { useEffect, useRef, useState } from 'react';
import { ApiError, request } from '../../api.ts';
import type { Message, ToolCall } from './conversation.ts';
import type { Wire } from './protocols.ts';
import { type Frame, POLICY_HEADER, readFrame, readWhole, type WireRequest, withCalls } from './wires.ts';

export interface Run {
  model: string;
  wire: Wire;
  sent: WireRequest;
  /** The conversation up to what was sent. */
  messages: readonly Message[];
  /** Hash of the key as which an operator asked. */
  key: string | undefined;
  state: 'running' | 'done' | 'failed';
  text: string;
  reasoning: string;
  calls: ToolCall[];
  /** Response as this browser got it: frames, or one whole body. */
  frames: { ms: number; text: string }[];
  firstMs?: number;
  totalMs?: number;
  inputTokens?: number;
  outputTokens?: number;
  requestId?: string;
  captureId?: string;
  endpoint?: string;
  path?: string;
  dropped?: string;
  error?: unknown;
}

const NO_ANSWER = { text: '', reasoning: '', calls: [], frames: [] };

/** More frames are counted, not kept. */
const MAX_FRAMES = 400;

export interface Start {
  model: string;
  wire: Wire;
  sent: WireRequest;
  messages: readonly Message[];
  /** Hash of the key as which an operator asks. */
  key: string | undefined;
}

export function useRuns() {
  const [runs, setRuns] = useState<Run[]>([]);
  const aborts = useRef<AbortController[]>([]);
  // Nobody sees the answers after that, and they cost.
  useEffect(() => () => abortAll(aborts.current), []);

  function stop() {
    abortAll(aborts.current);
    setRuns((all) => all.map((run) => (run.state === 'running' ? { ...run, state: 'done' } : run)));
  }

  function start(starts: readonly Start[]) {
    stop();
    aborts.current = starts.map(() => new AbortController());
    setRuns(starts.map((one) => ({ ...one, state: 'running', ...NO_ANSWER })));
    starts.forEach((one, index) => {
      const { signal } = aborts.current[index] as AbortController;
      const update = (next: (run: Run) => Run) => {
        if (!signal.aborted) setRuns((all) => all.map((run, place) => (place === index ? next(run) : run)));
      };
      ask(one, signal, update).catch((error) => update((run) => failed(run, error)));
    });
  }

  function clear() {
    stop();
    setRuns([]);
  }

  return { runs, start, stop, clear };
}

function abortAll(aborts: readonly AbortController[]) {
  for (const abort of aborts) abort.abort();
}

/** The conversation of a model over a protocol, with its last answer; what has failed, or was stopped at once, is not in it. */
export function conversationOf(runs: readonly Run[], { model, wire }: Pick<Run, 'model' | 'wire'>): readonly Message[] {
  const run = runs.find((one) => one.model === model && one.wire === wire);
  if (!run) return [];
  const { messages, text, calls, state } = run;
  if (state === 'failed' || (text === '' && calls.length === 0)) return messages.slice(0, -1);
  return [...messages, { role: 'assistant', text, calls }];
}

function failed(run: Run, error: unknown): Run {
  const known = error instanceof ApiError ? error : undefined;
  return {
    ...run,
    state: 'failed',
    error,
    requestId: run.requestId ?? known?.requestId,
    captureId: run.captureId ?? known?.capture,
  };
}

async function ask({ sent, wire, key }: Start, signal: AbortSignal, update: (next: (run: Run) => Run) => void) {
  const began = performance.now();
  const elapsed = () => Math.round(performance.now() - began);
  const headers = {
    'anthropic-version': '2023-06-01',
    'x-polygate-capture': '1',
    ...(key && { 'x-polygate-key': key }),
    ...(sent.policy && { [POLICY_HEADER]: sent.policy }),
  };
  const response = await request(new URL(sent.path, location.origin).href, {
    method: 'POST',
    headers,
    body: JSON.stringify(sent.body),
    signal,
  });
  const header = (name: string) => response.headers.get(`x-polygate-${name}`) ?? undefined;
  update((run) => ({
    ...run,
    requestId: header('request-id'),
    captureId: header('capture'),
    endpoint: header('endpoint'),
    path: header('path'),
    dropped: header('dropped'),
  }));
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const whole = await response.text();
    const ms = elapsed();
    update((run) => ({ ...withFrame(run, readWhole(wire, whole)), frames: [{ ms, text: whole }], firstMs: ms }));
  } else await readStream(response, { wire, elapsed, update });
  update((run) => ({ ...run, state: run.error ? 'failed' : 'done', totalMs: elapsed() }));
}

/** For those who do not see the answers grow. */
export function wordsOf(runs: readonly Run[]): string {
  const states = { running: 'is answering', done: 'has answered', failed: 'has failed' };
  return runs
    .map(
      ({ model, wire, state, text, outputTokens }) =>
        `${model} over ${wire} ${states[state]}, ${outputTokens === undefined ? `${text.length} characters` : `${outputTokens} tokens`}.`,
    )
    .join(' ');
}

interface Reading {
  wire: Wire;
  elapsed(): number;
  update(next: (run: Run) => Run): void;
}

async function readStream(response: Response, { wire, elapsed, update }: Reading) {
  const events = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  const reader = events?.getReader();
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
    const { event, data } = next.value;
    const ms = elapsed();
    const added = readFrame(wire, data);
    const frame = { ms, text: `${event ? `event: ${event}\n` : ''}data: ${data}\n\n` };
    update((run) => ({
      ...withFrame(run, added),
      frames: run.frames.length < MAX_FRAMES ? [...run.frames, frame] : run.frames,
      firstMs: run.firstMs ?? ms,
    }));
  }
}

function withFrame(run: Run, { text = '', reasoning = '', calls, inputTokens, outputTokens, error }: Frame): Run {
  return {
    ...run,
    text: run.text + text,
    reasoning: run.reasoning + reasoning,
    calls: calls ? withCalls(run.calls, calls) : run.calls,
    inputTokens: inputTokens ?? run.inputTokens,
    outputTokens: outputTokens ?? run.outputTokens,
    error: error ?? run.error,
  };
}
