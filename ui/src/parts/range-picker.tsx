/** Choice of a range of time, and of the zone of its days. */

import { type FormEvent, useState } from 'react';
import { LOCAL_ZONE, momentOfWall, type Span, UTC, wallOf } from '../spans.ts';
import { RANGES, type Range, type TimeSearch } from '../times.ts';
import { Spoken } from './announcer.tsx';
import { Field } from './field.tsx';
import { Segments } from './segments.tsx';

const NAMES = { any: 'any time', month: 'this month', custom: 'custom' };

interface RangePickerProps {
  time: TimeSearch;
  /** Range that is shown; a range of one's own begins with it. */
  span: Pick<Span, 'from' | 'to' | 'zone'>;
  /** Without a range in the address. */
  byDefault: Range | 'any';
  onChange(next: TimeSearch): void;
}

export function RangePicker({ time, span, byDefault, onChange }: RangePickerProps) {
  const [isOpen, setOpen] = useState(false);
  const isOwn = time.from !== undefined || time.to !== undefined;
  const zones = [...new Set([UTC, LOCAL_ZONE, span.zone])];
  const values = [...(byDefault === 'any' ? (['any'] as const) : []), ...RANGES, 'custom'] as const;
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-2">
      <Segments
        label="Time"
        values={values}
        names={NAMES}
        value={isOwn || isOpen ? 'custom' : (time.range ?? byDefault)}
        onChange={(next) => {
          setOpen(next === 'custom');
          if (next !== 'custom') onChange({ range: next === 'any' ? undefined : next, from: undefined, to: undefined });
        }}
      />
      {zones.length === 1 ? (
        <span className="text-dim">{UTC}</span>
      ) : (
        <Segments label="Time zone" values={zones} value={span.zone} onChange={(zone) => onChange({ zone })} />
      )}
      {(isOwn || isOpen) && (
        // What the address says is the beginning of what is typed.
        <OwnRange
          key={`${time.from} ${time.to}`}
          span={span}
          onSet={(own) => {
            setOpen(false);
            onChange({ range: undefined, ...own });
          }}
        />
      )}
    </div>
  );
}

/** Years of more digits are in another form. */
const LATEST = '9999-12-31T23:59';

interface OwnRangeProps {
  span: Pick<Span, 'from' | 'to' | 'zone'>;
  onSet(own: { from: string; to: string }): void;
}

function OwnRange({ span: { from, to, zone }, onSet }: OwnRangeProps) {
  const [typed, setTyped] = useState<Partial<Record<'from' | 'to', string>>>({});
  const texts = { from: textOf(from, zone), to: textOf(to, zone), ...typed };
  const isWrong = texts.from >= texts.to;

  function submit(event: FormEvent) {
    event.preventDefault();
    if (!isWrong) onSet({ from: momentOf(texts.from, zone), to: momentOf(texts.to, zone) });
  }

  return (
    <form className="flex basis-full flex-wrap items-end gap-2" onSubmit={submit}>
      {(['from', 'to'] as const).map((name) => (
        <Field
          key={name}
          label={`${name === 'from' ? 'From' : 'To'} (${zone})`}
          type="datetime-local"
          value={texts[name]}
          onChange={(text) => setTyped({ ...typed, [name]: text })}
          max={LATEST}
          required
        />
      ))}
      <button type="submit" className="button button-primary" disabled={isWrong}>
        Show
      </button>
      {isWrong && (
        <Spoken as="p" className="basis-full text-bad">
          The beginning must be before the end.
        </Spoken>
      )}
    </form>
  );
}

/** As an input of dates and times has it. */
function textOf(moment: Date, zone: string): string {
  return new Date(wallOf(zone, moment.getTime())).toISOString().slice(0, 16);
}

function momentOf(text: string, zone: string): string {
  return new Date(momentOfWall(zone, Date.parse(`${text}Z`))).toISOString();
}
