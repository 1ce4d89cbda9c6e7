/** Filters above the list of requests: two choices, a field for words, and a button for each filter that is on. */

import { useQueryClient } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { hashesOf, useKeyName } from '../../keys.ts';
import { Time } from '../../parts/numbers.tsx';
import { Select } from '../../parts/select.tsx';
import { useSession } from '../../session.ts';
import { CHOICES, FILTER_EXAMPLE, readWords, WordError } from './filter-words.ts';
import type { Filters } from './query.ts';

interface FilterBarProps {
  filters: Filters;
  onChange(next: Partial<Filters> & { open?: string }): void;
  /** Content at its end. */
  tools?: ReactNode;
}

export function FilterBar({ filters, onChange, tools }: FilterBarProps) {
  const { isOperator } = useSession();
  const findKey = useKeyFinder();
  const [problem, setProblem] = useState<string>();
  const problemId = useId();
  const chips = Object.entries(filters).filter(([name, value]) => value !== undefined && !(name in CHOICES));

  async function apply(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const form = event.currentTarget;
    const textNow = () => String(new FormData(form).get('filter'));
    const text = textNow();
    try {
      const { filters: found, open } = await readWords(text, findKey);
      setProblem(undefined);
      // What was typed while a key was looked for stays.
      if (textNow() === text) form.reset();
      onChange({ ...found, ...(open !== undefined && { open }) });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  }

  return (
    <div className="flex flex-wrap items-center gap-2 border-b p-3">
      {(['status', 'protocol'] as const).map((name) => (
        <Select
          key={name}
          label={name}
          value={filters[name] ?? ''}
          options={[{ value: '', label: `Any ${name}` }, ...CHOICES[name].map((value) => ({ value, label: value }))]}
          onChange={(value) => onChange({ [name]: value || undefined })}
        />
      ))}
      <form className="flex min-w-56 flex-1" onSubmit={(event) => void apply(event)}>
        <label className="flex-1">
          <span className="sr-only">Filter</span>
          <input
            className={`input ${problem ? '!border-bad' : ''}`}
            name="filter"
            data-search
            placeholder={FILTER_EXAMPLE}
            aria-invalid={problem !== undefined}
            aria-describedby={problem ? problemId : undefined}
            onChange={() => setProblem(undefined)}
          />
        </label>
      </form>
      {chips.map(([name, value]) => (
        <button
          key={name}
          type="button"
          className="button !bg-accent-soft"
          onClick={() => onChange({ [name]: undefined })}
        >
          {name === 'key' && isOperator ? (
            <KeyChip hash={String(value)} />
          ) : name === 'started_from' || name === 'started_to' ? (
            <span>
              {name === 'started_from' ? 'began from' : 'began before'} <Time at={String(value)} />
            </span>
          ) : (
            `${name}${value === true ? '' : `: ${value}`}`
          )}
          <X size={13} aria-label="Remove this filter" />
        </button>
      ))}
      {tools}
      {problem && (
        <p id={problemId} role="alert" className="w-full break-words text-bad">
          {problem}
        </p>
      )}
    </div>
  );
}

function KeyChip({ hash }: { hash: string }) {
  return `key: ${useKeyName(hash)}`;
}

/** Keys are asked for when a word names one. */
function useKeyFinder(): (name: string) => Promise<string> {
  const { isOperator } = useSession();
  const queries = useQueryClient();
  return async (name) => {
    if (!isOperator) throw new WordError('key: is for operators; these are the requests of your key.');
    const [found, other] = await hashesOf(name, queries);
    if (!found) throw new WordError(`No key is named “${name}”.`);
    if (other) throw new WordError(`Several keys are named “${name}”: use key: with the hash of one.`);
    return found;
  };
}
