/** Alignment of two streams: which frames of one side carry what frames of the other carry, in the order of both. */

import type { Mark } from './align.ts';

export interface WireFrame {
  ms: number;
  text: string;
}

/** Frames of both sides that belong together, by their indexes. */
export interface FrameRow {
  mark: Mark;
  left: number[];
  right: number[];
}

export interface WireStream {
  protocol: string;
  frames: readonly WireFrame[];
}

type Kind = 'text' | 'reasoning' | 'tool';
export type Carried = Partial<Record<Kind, string>>;

// biome-ignore lint/suspicious/noExplicitAny: Frames of five protocols, read with care.
type Data = Record<string, any>;

const KINDS: readonly Kind[] = ['text', 'reasoning', 'tool'];
const NOTHING: Carried = {};

const READERS: Record<string, (data: Data) => Carried> = {
  chat: ({ choices }) => {
    const delta = choices?.[0]?.delta;
    return {
      text: delta?.content,
      reasoning: delta?.reasoning_content ?? delta?.reasoning,
      tool: delta?.tool_calls?.map((call: Data) => call.function?.arguments ?? '').join(''),
    };
  },
  messages: ({ type, delta }) =>
    type === 'content_block_delta'
      ? { text: delta?.text, reasoning: delta?.thinking, tool: delta?.partial_json }
      : NOTHING,
  converse: ({ delta }) => ({
    text: delta?.text,
    reasoning: delta?.reasoningContent?.text,
    tool: delta?.toolUse?.input,
  }),
  generate: ({ candidates }) => {
    const parts: Data[] = candidates?.[0]?.content?.parts ?? [];
    const join = (texts: unknown[]) => texts.filter((text) => typeof text === 'string').join('');
    return {
      text: join(parts.map(({ text, thought }) => (thought ? '' : text))),
      reasoning: join(parts.map(({ text, thought }) => (thought ? text : ''))),
      tool: join(parts.map(({ functionCall }) => functionCall && JSON.stringify(functionCall.args ?? {}))),
    };
  },
  responses: ({ type, delta }) => {
    switch (type) {
      case 'response.output_text.delta':
        return { text: delta };
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return { reasoning: delta };
      case 'response.function_call_arguments.delta':
        return { tool: delta };
      default:
        return NOTHING;
    }
  },
};

/** Event name and data of a frame. */
export function readFrameText(text: string): { event?: string; data: string } {
  let event: string | undefined;
  const data: string[] = [];
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line.startsWith('event:')) event = line.slice('event:'.length).trim();
    else if (line.startsWith('data:')) data.push(line.slice('data:'.length).replace(/^ /, ''));
  }
  return { ...(event !== undefined && { event }), data: data.length > 0 ? data.join('\n') : text.trim() };
}

export function carriedBy(protocol: string, text: string): Carried {
  const read = READERS[protocol];
  if (!read) return NOTHING;
  try {
    const carried = read(JSON.parse(readFrameText(text).data));
    return Object.fromEntries(Object.entries(carried).filter(([, value]) => typeof value === 'string' && value !== ''));
  } catch {
    return NOTHING;
  }
}

interface PlacedFrame {
  ms: number;
  text: string;
  /** Place of what it carries in all that its side carries of that kind; empty if it carries nothing. */
  spans: [kind: Kind, start: number, end: number][];
}

function placed({ protocol, frames }: WireStream, isTimed: boolean): PlacedFrame[] {
  const ends: Record<Kind, number> = { text: 0, reasoning: 0, tool: 0 };
  return frames.map(({ ms, text }) => {
    const carried = carriedBy(protocol, text);
    const spans = KINDS.flatMap((kind): PlacedFrame['spans'] => {
      const length = carried[kind]?.length ?? 0;
      if (length === 0) return [];
      const start = ends[kind];
      ends[kind] += length;
      return [[kind, start, ends[kind]]];
    });
    return { ms: isTimed ? ms : 0, text, spans };
  });
}

/** One pass over both sides. Times of two requests say nothing about each other: with `isTimed: false` only order counts. */
export function alignFrames(left: WireStream, right: WireStream, { isTimed = true } = {}): FrameRow[] {
  const [ones, others] = [left, right].map((stream) => placed(stream, isTimed)) as [PlacedFrame[], PlacedFrame[]];
  const rows: FrameRow[] = [];
  let [i, j] = [0, 0];
  while (i < ones.length || j < others.length) {
    const [one, other] = [ones[i], others[j]];
    if (one && other && belongTogether(one, other)) {
      const row: FrameRow = { mark: 'reshaped', left: [i++], right: [j++] };
      if (one.spans.length > 0) [i, j] = extend(row, { ones, others }, [i, j]);
      if (row.left.length === 1 && row.right.length === 1 && one.text === other.text) row.mark = 'same';
      rows.push(row);
    } else if (one && (!other || comesFirst(one, other))) rows.push({ mark: 'dropped', left: [i++], right: [] });
    else rows.push({ mark: 'added', left: [], right: [j++] });
  }
  return rows;
}

/** What one side sends in one piece can be several on the other. */
function extend(
  row: FrameRow,
  { ones, others }: { ones: PlacedFrame[]; others: PlacedFrame[] },
  [i, j]: [number, number],
): [number, number] {
  for (;;) {
    const [one, other] = [ones[i], others[j]];
    const lastOne = ones[row.left.at(-1) as number] as PlacedFrame;
    const lastOther = others[row.right.at(-1) as number] as PlacedFrame;
    if (one && overlap(one, lastOther)) row.left.push(i++);
    else if (other && overlap(lastOne, other)) row.right.push(j++);
    else return [i, j];
  }
}

function belongTogether(one: PlacedFrame, other: PlacedFrame): boolean {
  if (one.spans.length === 0 && other.spans.length === 0) return one.text === other.text || one.ms <= other.ms;
  return overlap(one, other);
}

function overlap(one: PlacedFrame, other: PlacedFrame): boolean {
  return one.spans.some(([kind, start, end]) =>
    other.spans.some(([same, from, to]) => same === kind && start < to && from < end),
  );
}

/** A frame that carries nothing does not wait for one that does; else the time says it. */
function comesFirst(one: PlacedFrame, other: PlacedFrame): boolean {
  if (one.spans.length === 0 && other.spans.length > 0) return true;
  if (one.spans.length > 0 && other.spans.length === 0) return false;
  return one.ms <= other.ms;
}
