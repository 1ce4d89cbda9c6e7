/** Input with its name, a hint, and the gateway's message where it is wrong. */

import { type InputHTMLAttributes, useId } from 'react';
import { ApiError } from '../api.ts';

interface FieldProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange' | 'value'> {
  label: string;
  hint?: string;
  value: string;
  /** The error of the last attempt. */
  error?: unknown;
  /** Name of the field in the API. */
  param?: string;
  onChange(value: string): void;
}

export function Field({ label, hint, value, error, param, onChange, ...rest }: FieldProps) {
  const id = useId();
  const wrong =
    param !== undefined && error instanceof ApiError && error.param?.replace(/^\//, '').replaceAll('/', '.') === param
      ? error.message
      : undefined;
  return (
    <label className="flex flex-col gap-1">
      <span className="font-medium">{label}</span>
      <input
        {...rest}
        className={`input ${wrong ? '!border-bad' : ''}`}
        value={value}
        aria-invalid={wrong !== undefined}
        aria-describedby={wrong || hint ? id : undefined}
        onChange={(event) => onChange(event.target.value)}
      />
      {(wrong || hint) && (
        <span id={id} className={wrong ? 'text-bad' : 'text-dim'}>
          {wrong ?? hint}
        </span>
      )}
    </label>
  );
}
