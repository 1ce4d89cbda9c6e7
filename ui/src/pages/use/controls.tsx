/** Controls of the page of use: grouping, form and filters. */

import { X } from 'lucide-react';
import { Segments } from '../../parts/segments.tsx';
import { Select } from '../../parts/select.tsx';
import { type Span, stepsOf } from '../../spans.ts';
import type { Step } from '../../times.ts';
import { wordsOf } from '../../usage.ts';
import {
  type Dimension,
  METRICS,
  type Metric,
  PLAIN_DIMENSIONS,
  TOPS,
  type Top,
  type UseFilters,
  type UseView,
} from './search.ts';

const FILTERS = [...PLAIN_DIMENSIONS, 'tag'] as const;
export const METRIC_NAMES: Record<Metric, string> = {
  cost: 'Cost',
  requests: 'Requests',
  tokens: 'Tokens',
  failures: 'Failures',
};
const NOTHING = 'nothing';
const USUAL = 'usual';

interface ControlsProps {
  view: UseView & { by: Dimension; metric: Metric; top: Top };
  span: Span;
  filters: UseFilters;
  tagNames: readonly string[];
  /** Name of the key that the filter has. */
  keyName: string;
  onChange(next: UseView & UseFilters): void;
}

export function Controls({ view, span, filters, tagNames, keyName, onChange }: ControlsProps) {
  const { by, second, metric, top, per, cumulative, compare } = view;
  const tags = tagNames.map((name) => `tag:${name}` as const);
  const offered = [...new Set<Dimension>([...PLAIN_DIMENSIONS, ...tags, by, ...(second ? [second] : [])])];
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <Segments
          label="Figure"
          values={METRICS}
          names={METRIC_NAMES}
          value={metric}
          onChange={(next) => onChange({ metric: next })}
        />
        <Select
          label="Group"
          value={by}
          options={offered.map((name) => ({ value: name, label: `by ${wordsOf(name)}` }))}
          onChange={(next) => onChange({ by: next, ...(next === second && { second: undefined }) })}
        />
        <Select<Dimension | typeof NOTHING>
          label="Second level"
          value={second ?? NOTHING}
          options={[
            { value: NOTHING, label: 'then nothing' },
            ...offered.filter((name) => name !== by).map((name) => ({ value: name, label: `then ${wordsOf(name)}` })),
          ]}
          onChange={(next) => onChange({ second: next === NOTHING ? undefined : next })}
        />
        <Select
          label="Top"
          value={top}
          options={TOPS.map((value) => ({ value, label: `top ${value}` }))}
          onChange={(next) => onChange({ top: next })}
        />
        <Select<Step | typeof USUAL>
          label="Length of a bar"
          value={per && per === span.step ? per : USUAL}
          options={[
            { value: USUAL, label: per === span.step ? 'automatic' : `per ${span.step}` },
            ...stepsOf(span)
              .filter((step) => step === per || step !== span.step)
              .map((step) => ({ value: step, label: `per ${step}` })),
          ]}
          onChange={(next) => onChange({ per: next === USUAL ? undefined : next })}
        />
        <Choice
          label="Cumulative"
          isOn={cumulative === true}
          onChange={(isOn) => onChange({ cumulative: isOn || undefined })}
        />
        <Choice
          label="Compare with the period before"
          isOn={compare !== false}
          onChange={(isOn) => onChange({ compare: isOn ? undefined : false })}
        />
      </div>
      {Object.values(filters).some(Boolean) && (
        <div className="flex flex-wrap items-center gap-2">
          {FILTERS.map((name) => {
            const value = filters[name];
            return (
              value && (
                <button
                  key={name}
                  type="button"
                  className="button !bg-accent-soft"
                  onClick={() => onChange({ [name]: undefined })}
                >
                  {name}: {name === 'key' ? keyName : value}
                  <X size={13} aria-label="Remove this filter" />
                </button>
              )
            );
          })}
        </div>
      )}
    </>
  );
}

function Choice({ label, isOn, onChange }: { label: string; isOn: boolean; onChange(isOn: boolean): void }) {
  return (
    <label className="inline-flex min-h-[30px] items-center gap-1.5 px-1 text-dim hover:text-ink">
      <input type="checkbox" className="size-4 accent-accent" checked={isOn} onChange={() => onChange(!isOn)} />
      {label}
    </label>
  );
}
