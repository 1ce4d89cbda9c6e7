/** Settings of a key that few need: surfaces, addresses, stored responses, notes, and limits per model. */

import { Field, isAbout, LinesField } from '../../parts/field.tsx';
import { Select } from '../../parts/select.tsx';
import { type KeyForm, NO_KEY } from './settings.ts';

const NAMES = ['surfaces', 'cidrs', 'storeResponses', 'metadata', 'modelLimits'] as const;
const PARAMS = ['surfaces', 'cidrs', 'store_responses', 'metadata', 'model_limits'];

interface AdvancedProps {
  form: KeyForm;
  before: KeyForm;
  error: unknown;
  onChange(next: Partial<KeyForm>): void;
}

export function Advanced({ form, before, error, onChange }: AdvancedProps) {
  const isUsed = NAMES.some((name) => before[name] !== NO_KEY[name]);
  return (
    <details open={isUsed || PARAMS.some((param) => isAbout(error, param))}>
      <summary className="min-h-[24px] cursor-pointer font-medium">Advanced</summary>
      <div className="mt-3 flex flex-col gap-4">
        <Field
          label="Surfaces"
          value={form.surfaces}
          onChange={(surfaces) => onChange({ surfaces })}
          error={error}
          param="surfaces"
          placeholder="chat, videos"
          hint="Some of chat, messages, generate, responses, videos. Empty means all."
        />
        <Field
          label="Addresses"
          value={form.cidrs}
          onChange={(cidrs) => onChange({ cidrs })}
          error={error}
          param="cidrs"
          placeholder="10.0.0.0/8, fd00::/8"
          hint="Ranges of clients that may use the key. Empty means any."
        />
        <div className="flex flex-wrap items-center gap-2">
          <span aria-hidden className="font-medium">
            Responses are stored
          </span>
          <Select
            label="Responses are stored"
            value={form.storeResponses}
            options={[
              { value: '', label: 'as configured' },
              { value: 'yes', label: 'yes' },
              { value: 'no', label: 'no' },
            ]}
            onChange={(storeResponses) => onChange({ storeResponses })}
          />
        </div>
        <LinesField
          label="Notes"
          value={form.metadata}
          onChange={(metadata) => onChange({ metadata })}
          error={error}
          param="metadata"
          placeholder="ticket=INF-1"
          hint="One on a line, as name=value."
        />
        <LinesField
          label="Limits per model"
          value={form.modelLimits}
          onChange={(modelLimits) => onChange({ modelLimits })}
          error={error}
          param="model_limits"
          placeholder="openai/gpt-* rpm=60 tpm=100000 concurrent=2"
          hint="A glob of models on each line, and its rpm, tpm and concurrent."
        />
      </div>
    </details>
  );
}
