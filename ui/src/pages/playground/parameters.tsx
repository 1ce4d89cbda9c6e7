/** Parameters of a request: as fields, or as JSON of the protocol. */

import { useState } from 'react';
import { Segments } from '../../parts/segments.tsx';
import { parametersOf } from './bodies.ts';
import { moreMembers, type Turn, withMembers } from './conversation.ts';
import type { Wire } from './protocols.ts';

const FORMS = ['fields', 'json'] as const;
const FORM_NAMES = { fields: 'Fields', json: 'JSON' };

interface ParametersProps {
  wire: Wire;
  turn: Turn;
  /** Reason for which the JSON is wrong. */
  wrong: string | undefined;
  onChange(turn: Turn): void;
}

export function Parameters({ wire, turn, wrong, onChange }: ParametersProps) {
  const [form, setForm] = useState<(typeof FORMS)[number]>('fields');
  const { maxTokens, temperature, more } = turn;

  function choose(next: (typeof FORMS)[number]) {
    setForm(next);
    if (next === 'json') onChange({ ...turn, maxTokens: undefined, temperature: undefined, more: asJson(wire, turn) });
  }

  return (
    <>
      <Segments label="Parameters" values={FORMS} names={FORM_NAMES} value={form} onChange={choose} />
      {form === 'fields' ? (
        <>
          <NumberInput
            label="Max tokens"
            value={maxTokens}
            onChange={(next) => onChange({ ...turn, maxTokens: next })}
          />
          <NumberInput
            label="Temperature"
            value={temperature}
            step="0.1"
            onChange={(next) => onChange({ ...turn, temperature: next })}
          />
          <label className="flex min-w-0 flex-1 basis-52 items-center gap-2 text-dim">
            <span className="shrink-0">More fields</span>
            <input
              className="input min-w-24 font-mono"
              spellCheck={false}
              placeholder='{ "top_k": 5 }'
              aria-invalid={wrong !== undefined}
              value={more}
              onChange={(event) => onChange({ ...turn, more: event.target.value })}
            />
          </label>
        </>
      ) : (
        <textarea
          aria-label="Parameters as JSON"
          className="input min-h-24 min-w-0 flex-1 basis-80 font-mono"
          rows={5}
          spellCheck={false}
          aria-invalid={wrong !== undefined}
          value={more}
          onChange={(event) => onChange({ ...turn, more: event.target.value })}
        />
      )}
    </>
  );
}

/** The fields as members of the protocol; text that is wrong stays as it is. */
function asJson(wire: Wire, turn: Turn): string {
  try {
    return JSON.stringify(withMembers(parametersOf(wire, turn), moreMembers(turn.more)), undefined, 2);
  } catch {
    return turn.more;
  }
}

interface NumberInputProps {
  label: string;
  value: number | undefined;
  step?: string;
  onChange(value: number | undefined): void;
}

function NumberInput({ label, value, step = '1', onChange }: NumberInputProps) {
  return (
    <label className="flex items-center gap-2 text-dim">
      {label}
      <input
        type="number"
        className="input !w-24 max-sm:!w-18"
        min="0"
        step={step}
        value={value ?? ''}
        onChange={(event) => onChange(event.target.value === '' ? undefined : Number(event.target.value))}
      />
    </label>
  );
}
