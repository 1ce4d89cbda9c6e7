/** Two sides of the wire, row by row: each value beside the place where it went. */

import { useMemo, useState } from 'react';
import { formatCount } from '../../../parts/numbers.tsx';
import { type AlignedLeaf, align, type Mark } from '../../../wire/align.ts';
import { alignFrames, type FrameRow, readFrameText, type WireFrame } from '../../../wire/frames.ts';
import { type Leaf, type Leaves, leavesOf } from '../../../wire/leaves.ts';
import { countMarks, MarkFilter, MarkLabel, type MarkNames, type ShownMark, TINTS } from './marks.tsx';
import { Value } from './picked.tsx';
import { type Content, carriedText, contentOf, type Side } from './sides.ts';

const FIRST_ROWS = 150;
const GRID = 'grid grid-cols-1 sm:grid-cols-[minmax(0,1fr)_8rem_minmax(0,1fr)]';

interface PairProps {
  label: string;
  left: Side | undefined;
  right: Side | undefined;
  /** Fields that the gateway says it dropped. */
  dropped?: readonly string[];
  /** Of the way between the two. */
  way?: string;
  names: MarkNames;
  /** Both sides are of one request. */
  isTimed?: boolean;
  /** Said where a side is absent. */
  absent: string;
}

type Row = { kind: 'leaf'; row: AlignedLeaf; mark: ShownMark } | { kind: 'frames'; row: FrameRow; mark: ShownMark };

export function WirePair({ label, left, right, dropped, way, names, isTimed = true, absent }: PairProps) {
  const [hidden, setHidden] = useState<ShownMark[]>([]);
  const [isWhole, setWhole] = useState(false);
  const contents = useMemo(
    () => [contentOf(left?.body ?? null), contentOf(right?.body ?? null)] as const,
    [left, right],
  );
  const { rows, omitted } = useMemo(
    () => rowsOf(contents, { left, right, dropped, isTimed }),
    [contents, left, right, dropped, isTimed],
  );
  const shown = rows.filter(({ mark }) => !hidden.includes(mark));
  return (
    <section aria-label={label} className="min-w-0">
      <div className={`${GRID} border-b bg-rail`}>
        <SideHead side={left} absent={absent} />
        <div className={`flex items-center px-3 py-2 sm:justify-center sm:px-0 ${way ? '' : 'max-sm:hidden'}`}>
          {way && <span className="rounded-md border bg-surface px-1.5 py-0.5 text-xs text-dim">{way}</span>}
        </div>
        <SideHead side={right} absent={absent} />
      </div>
      {rows.length > 0 && (
        <div className="border-b px-3 py-2">
          <MarkFilter counts={countMarks(rows)} hidden={hidden} names={names} onChange={setHidden} />
        </div>
      )}
      <ol className="font-mono text-xs" aria-label={`${label}, row by row`}>
        {(isWhole ? shown : shown.slice(0, FIRST_ROWS)).map((one) => (
          <li key={keyOf(one)} className={`${GRID} border-b last:border-b-0 ${TINTS[one.mark]}`}>
            {one.kind === 'leaf' ? (
              <>
                <LeafCell leaf={one.row.left} />
                <MarkCell mark={one.mark} names={names} />
                <LeafCell leaf={one.row.right} isRight />
              </>
            ) : (
              <>
                <FrameCell side={left} content={contents[0]} indexes={one.row.left} />
                <MarkCell mark={one.mark} names={names} />
                <FrameCell side={right} content={contents[1]} indexes={one.row.right} isRight />
              </>
            )}
          </li>
        ))}
      </ol>
      {rows.length === 0 && (
        <div className={GRID}>
          <PlainCell content={contents[0]} isThere={left !== undefined} />
          <div />
          <PlainCell content={contents[1]} isThere={right !== undefined} />
        </div>
      )}
      {!isWhole && shown.length > FIRST_ROWS && (
        <button type="button" className="button m-3" onClick={() => setWhole(true)}>
          Show all {formatCount(shown.length)} rows
        </button>
      )}
      {omitted > 0 && <p className="p-3 text-dim">{formatCount(omitted)} more values are not shown.</p>}
    </section>
  );
}

function rowsOf(
  [one, other]: readonly [Content, Content],
  { left, right, dropped = [], isTimed }: Pick<PairProps, 'left' | 'right' | 'dropped' | 'isTimed'>,
): { rows: Row[]; omitted: number } {
  if (one.kind === 'frames' && other.kind === 'frames') {
    const streams = [
      { protocol: left?.protocol ?? '', frames: one.frames },
      { protocol: right?.protocol ?? '', frames: other.frames },
    ] as const;
    return {
      rows: alignFrames(...streams, { isTimed }).map((row) => ({ kind: 'frames', row, mark: shownMark(row) })),
      omitted: 0,
    };
  }
  if (one.kind !== 'json' || other.kind !== 'json') return { rows: [], omitted: 0 };
  // Between equal protocols the address names the model on both sides.
  const [ones, others]: [Leaves, Leaves] = [leavesOf(one.value, left?.url), leavesOf(other.value, right?.url)];
  const rows = align(ones.leaves, others.leaves, { dropped });
  return {
    rows: rows.map((row) => ({ kind: 'leaf', row, mark: shownMark(row) })),
    omitted: ones.omitted + others.omitted,
  };
}

function shownMark({ mark, isTold }: { mark: Mark; isTold?: true }): ShownMark {
  return mark === 'dropped' && !isTold ? 'unsent' : mark;
}

function keyOf({ kind, row }: Row): string {
  return kind === 'leaf'
    ? `${row.left?.path ?? ''} > ${row.right?.path ?? ''}`
    : `${row.left.join(' ')} > ${row.right.join(' ')}`;
}

function SideHead({ side, absent }: { side: Side | undefined; absent: string }) {
  if (!side) return <div className="px-3 py-2 text-dim">{absent}</div>;
  const { title, protocol, line, ms, headers, trailers, body } = side;
  return (
    <div className="min-w-0 px-3 py-2">
      <h3 className="flex flex-wrap items-baseline gap-x-2">
        {title}
        <span className="font-normal text-dim">
          {protocol}
          {body && `, ${formatBytes(body.bytes)}`}
          {ms !== undefined && `, +${formatCount(ms)} ms`}
        </span>
      </h3>
      <p className="truncate font-mono text-xs text-dim" title={line}>
        {line}
      </p>
      {body?.truncated && <p className="text-xs text-warn">The end is missing: the body was too large to keep.</p>}
      <HeaderList headers={headers} name="headers" />
      {trailers && <HeaderList headers={trailers} name="trailers" />}
    </div>
  );
}

function HeaderList({ headers, name }: { headers: Record<string, string>; name: 'headers' | 'trailers' }) {
  const entries = Object.entries(headers);
  if (entries.length === 0) return null;
  return (
    <details className="text-xs">
      <summary className="min-h-[24px] content-center text-dim hover:text-ink">
        {entries.length} {entries.length === 1 ? name.slice(0, -1) : name}
      </summary>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-2 font-mono">
        {entries.map(([header, value]) => (
          <div key={header} className="contents">
            <dt className="text-dim">{header}</dt>
            <dd className="break-all">{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

function MarkCell({ mark, names }: { mark: ShownMark; names: MarkNames }) {
  return (
    <div className="flex items-start px-3 font-sans sm:py-1 sm:justify-center sm:px-1.5">
      <span className="flex min-h-[24px] items-center">
        <MarkLabel mark={mark} names={names} />
      </span>
    </div>
  );
}

/** Where columns do not fit beside each other, the right one is indented. */
const RIGHT = 'max-sm:ml-3 max-sm:border-l-2';

function LeafCell({ leaf, isRight = false }: { leaf: Leaf | undefined; isRight?: boolean }) {
  if (!leaf) return <div className="max-sm:hidden" />;
  const { path, name, value } = leaf;
  const start = path.slice(0, path.lastIndexOf(name));
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return (
    <div className={`min-w-0 px-3 py-1 leading-6 [overflow-wrap:anywhere] ${isRight ? RIGHT : ''}`}>
      <span className="text-dim">{start}</span>
      <span className="font-medium">{path.slice(start.length)}</span>{' '}
      <Value text={text} shown={shortened(typeof value === 'string' ? JSON.stringify(value) : text)} />
    </div>
  );
}

interface FrameCellProps {
  side: Side | undefined;
  content: Content;
  indexes: readonly number[];
  isRight?: boolean;
}

function FrameCell({ side, content, indexes, isRight = false }: FrameCellProps) {
  if (content.kind !== 'frames' || indexes.length === 0) return <div className="max-sm:hidden" />;
  return (
    <div className={`flex min-w-0 flex-col gap-1 px-3 py-1 ${isRight ? RIGHT : ''}`}>
      {indexes.map((index) => {
        const frame = content.frames[index];
        return frame && <Frame key={index} frame={frame} protocol={side?.protocol ?? ''} />;
      })}
    </div>
  );
}

function Frame({ frame, protocol }: { frame: WireFrame; protocol: string }) {
  const [isOpen, setOpen] = useState(false);
  const { event, data } = readFrameText(frame.text);
  const carried = carriedText(protocol, frame);
  return (
    <div className="min-w-0">
      <div className="flex min-h-[24px] flex-wrap items-center gap-x-2">
        <span className="w-16 shrink-0 text-dim tabular-nums">+{formatCount(frame.ms)} ms</span>
        {event && <span className="text-accent">{event}</span>}
        {carried !== '' && <Value text={carried} shown={shortened(JSON.stringify(carried))} />}
      </div>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className={`block min-h-[24px] w-full rounded text-left break-all text-dim hover:text-ink ${isOpen ? 'whitespace-pre-wrap' : 'truncate'}`}
      >
        {isOpen ? data : excerpt(data, carried)}
      </button>
    </div>
  );
}

/** Of a frame that is not opened. */
const MAX_FRAME_CHARACTERS = 300;
const CHARACTERS_BEFORE = 24;

/** Begins with the object that has what the frame carries; frames of a stream begin alike. */
function excerpt(data: string, carried: string): string {
  const place = carried === '' ? -1 : data.lastIndexOf(JSON.stringify(carried).slice(1, -1));
  const start = place > CHARACTERS_BEFORE ? data.lastIndexOf('{', place) : 0;
  return `${start > 0 ? '… ' : ''}${data.slice(start, start + MAX_FRAME_CHARACTERS)}`;
}

/** Lines that cannot be aligned. */
function PlainCell({ content, isThere }: { content: Content; isThere: boolean }) {
  if (!isThere) return <div />;
  const texts =
    content.kind === 'frames'
      ? content.frames.map(({ ms, text }) => `+${ms} ms  ${text.trim()}`)
      : [
          content.kind === 'json'
            ? JSON.stringify(content.value, undefined, 2)
            : content.kind === 'text'
              ? content.text
              : HIDDEN,
        ];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: A region that scrolls must be reached by keyboard.
    <pre tabIndex={0} className="max-h-96 min-w-0 overflow-auto p-3 text-xs whitespace-pre-wrap break-all">
      {texts.join('\n') || 'The body is empty.'}
    </pre>
  );
}

const HIDDEN = 'An upstream can name the account of the operator in a response that failed. Only operators see it.';
const MAX_VALUE_CHARACTERS = 600;

function shortened(text: string): string {
  return text.length > MAX_VALUE_CHARACTERS ? `${text.slice(0, MAX_VALUE_CHARACTERS)} …` : text;
}

function formatBytes(bytes: number): string {
  return bytes < 10_000 ? `${formatCount(bytes)} B` : `${formatCount(Math.round(bytes / 1000))} kB`;
}
