/** Filters of the catalog: words, provider, kinds of input and output, context, price and abilities. */

import type { ReactNode } from 'react';
import { Select } from '../../parts/select.tsx';
import { FilterLine, SearchField, ShownCount } from '../../parts/table.tsx';
import { useSession } from '../../session.ts';
import { ABILITIES, type Ability, abilitiesOf, type ModelFilters } from './filters.ts';

const INPUTS = ['image', 'file', 'audio', 'video'];
const OUTPUTS = ['text', 'image', 'audio', 'video', 'embeddings'];
const CONTEXTS = [32_000, 128_000, 200_000, 1_000_000];
const PRICES = [0.25, 1, 3, 10];
const ABILITY_NAMES: Record<Ability, string> = {
  tools: 'Tools',
  reasoning: 'Reasoning',
  structured_outputs: 'Structured output',
};
const ANY = '';

interface FilterBarProps {
  filters: ModelFilters;
  providers: readonly string[];
  shown: number;
  all: number;
  /** Commands of the table. */
  tools: ReactNode;
  onChange(next: Partial<ModelFilters>): void;
}

export function FilterBar({ filters, providers, shown, all, tools, onChange }: FilterBarProps) {
  const { isOperator } = useSession();
  const { find = '', provider, takes, gives, context, price, can, zdr } = filters;
  const abilities = abilitiesOf(can);
  const isNarrowed = Object.values(filters).some((value) => value !== undefined);
  const none = Object.fromEntries(Object.keys(filters).map((name) => [name, undefined]));

  function toggle(ability: Ability) {
    const next = ABILITIES.filter((name) => abilities.includes(name) !== (name === ability));
    onChange({ can: next.join(',') || undefined });
  }

  return (
    <FilterLine>
      <SearchField placeholder="Name, id or what it takes" value={find} onChange={(next) => onChange({ find: next })} />
      <Choice
        label="Provider"
        any="All providers"
        value={provider}
        values={providers}
        onChange={(value) => onChange({ provider: value })}
      />
      <Choice
        label="Takes"
        any="Takes anything"
        value={takes}
        values={INPUTS}
        words={(value) => `Takes ${value}`}
        onChange={(value) => onChange({ takes: value })}
      />
      <Choice
        label="Gives"
        any="Gives anything"
        value={gives}
        values={OUTPUTS}
        words={(value) => `Gives ${value}`}
        onChange={(value) => onChange({ gives: value })}
      />
      <Choice
        label="Context"
        any="Any context"
        value={context === undefined ? undefined : String(context)}
        values={CONTEXTS.map(String)}
        words={(value) =>
          `${Number(value) >= 1e6 ? `${Number(value) / 1e6} M` : `${Number(value) / 1000} k`} tokens or more`
        }
        onChange={(value) => onChange({ context: value === undefined ? undefined : Number(value) })}
      />
      <Choice
        label="Price"
        any="Any price"
        value={price === undefined ? undefined : String(price)}
        values={PRICES.map(String)}
        words={(value) => `In at most $${value}`}
        onChange={(value) => onChange({ price: value === undefined ? undefined : Number(value) })}
      />
      {ABILITIES.map((name) => (
        <Toggle key={name} isOn={abilities.includes(name)} onClick={() => toggle(name)}>
          {ABILITY_NAMES[name]}
        </Toggle>
      ))}
      {isOperator && (
        <Toggle isOn={zdr === true} onClick={() => onChange({ zdr: zdr ? undefined : true })}>
          Zero retention
        </Toggle>
      )}
      {isNarrowed && (
        <button type="button" className="button button-quiet" onClick={() => onChange(none)}>
          Clear
        </button>
      )}
      <ShownCount shown={shown} all={all} />
      {tools}
    </FilterLine>
  );
}

interface ChoiceProps {
  label: string;
  /** Text while nothing is chosen. */
  any: string;
  value: string | undefined;
  values: readonly string[];
  words?(value: string): string;
  onChange(value: string | undefined): void;
}

function Choice({ label, any, value = ANY, values, words = (one) => one, onChange }: ChoiceProps) {
  const known = value === ANY || values.includes(value) ? values : [...values, value];
  return (
    <Select
      label={label}
      value={value}
      options={[{ value: ANY, label: any }, ...known.map((one) => ({ value: one, label: words(one) }))]}
      onChange={(next) => onChange(next || undefined)}
    />
  );
}

function Toggle({ isOn, onClick, children }: { isOn: boolean; onClick(): void; children: string }) {
  return (
    <button
      type="button"
      aria-pressed={isOn}
      onClick={onClick}
      className="button !font-normal aria-pressed:!border-accent aria-pressed:!bg-accent-soft aria-pressed:!text-accent"
    >
      {children}
    </button>
  );
}
