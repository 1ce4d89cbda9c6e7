/** Marks of aligned values: a word and an icon each, and the choice of those that are shown. */

import { CircleDashed, CircleMinus, CirclePlus, Equal, type LucideIcon, PencilLine, Shuffle } from 'lucide-react';
import type { Mark } from '../../../wire/align.ts';

/** What ends on one side without being dropped in the gateway's own words is `unsent`. */
export type ShownMark = Mark | 'unsent';

const MARKS: readonly ShownMark[] = ['same', 'renamed', 'reshaped', 'dropped', 'unsent', 'added'];

const LOOKS: Record<ShownMark, { icon: LucideIcon; className: string }> = {
  same: { icon: Equal, className: 'text-dim' },
  renamed: { icon: PencilLine, className: 'text-accent' },
  reshaped: { icon: Shuffle, className: 'text-code-keyword' },
  dropped: { icon: CircleMinus, className: 'text-bad' },
  unsent: { icon: CircleDashed, className: 'text-dim' },
  added: { icon: CirclePlus, className: 'text-good' },
};

/** Of the row of a mark. */
export const TINTS: Record<ShownMark, string> = {
  same: '',
  renamed: '',
  reshaped: '',
  dropped: 'bg-bad-soft',
  unsent: 'bg-hover',
  added: 'bg-good-soft',
};

export type MarkNames = Partial<Record<ShownMark, string>>;

export function MarkLabel({ mark, names = {} }: { mark: ShownMark; names?: MarkNames }) {
  const { icon: Icon, className } = LOOKS[mark];
  return (
    <span className={`inline-flex items-center gap-1.5 text-xs font-medium whitespace-nowrap ${className}`}>
      <Icon size={13} aria-hidden className="shrink-0" />
      {names[mark] ?? mark}
    </span>
  );
}

interface MarkFilterProps {
  counts: Record<ShownMark, number>;
  hidden: readonly ShownMark[];
  names?: MarkNames;
  onChange(hidden: ShownMark[]): void;
}

export function MarkFilter({ counts, hidden, names, onChange }: MarkFilterProps) {
  return (
    <fieldset className="flex flex-wrap gap-1">
      <legend className="sr-only">Marks that are shown</legend>
      {MARKS.filter((mark) => counts[mark] > 0).map((mark) => (
        <button
          key={mark}
          type="button"
          aria-pressed={!hidden.includes(mark)}
          onClick={() => onChange(hidden.includes(mark) ? hidden.filter((one) => one !== mark) : [...hidden, mark])}
          className="inline-flex min-h-[24px] items-center gap-1.5 rounded-md border border-line px-1.5 hover:bg-hover aria-[pressed=false]:border-dashed aria-[pressed=false]:line-through"
        >
          <MarkLabel mark={mark} names={names} />
          <span className="text-xs text-dim tabular-nums">{counts[mark]}</span>
        </button>
      ))}
    </fieldset>
  );
}

export function countMarks(rows: readonly { mark: ShownMark }[]): Record<ShownMark, number> {
  const counts = { same: 0, renamed: 0, reshaped: 0, dropped: 0, unsent: 0, added: 0 };
  for (const { mark } of rows) counts[mark] += 1;
  return counts;
}
