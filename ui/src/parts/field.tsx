/** Input with its name, a hint, and the gateway's message where it is wrong. */

import { type InputHTMLAttributes, type ReactNode, useId, useLayoutEffect, useRef } from 'react';
import { ApiError } from '../api.ts';

interface NamedProps {
  label: string;
  hint?: string | undefined;
  value: string;
  /** The error of the last attempt. */
  error?: unknown;
  /** Name of the field in the API. */
  param?: string;
  onChange(value: string): void;
}

type FieldProps = NamedProps & Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange' | 'value'>;

export function Field({ label, hint, value, error, param, onChange, ...rest }: FieldProps) {
  return (
    <Named {...{ label, hint, error, param }}>
      {(state) => <input {...rest} {...state} value={value} onChange={(event) => onChange(event.target.value)} />}
    </Named>
  );
}

/** Field of several lines. */
export function LinesField({
  label,
  hint,
  value,
  error,
  param,
  onChange,
  placeholder,
}: NamedProps & { placeholder: string }) {
  return (
    <Named {...{ label, hint, error, param }}>
      {({ className, ...state }) => (
        <textarea
          {...state}
          className={`${className} py-2 font-mono text-xs`}
          rows={2}
          spellCheck={false}
          placeholder={placeholder}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Named>
  );
}

/** Whether an error is about a field of the API, or a part of it. */
export function isAbout(error: unknown, param: string): error is ApiError {
  const wrong = error instanceof ApiError ? error.param?.replace(/^\//, '').replaceAll('/', '.') : undefined;
  return wrong === param || wrong?.startsWith(`${param}.`) === true || wrong?.startsWith(`${param}[`) === true;
}

interface FieldState {
  className: string;
  'aria-invalid': boolean;
  'aria-describedby': string | undefined;
}

type NameProps = { [Name in 'label' | 'hint' | 'error' | 'param']: NamedProps[Name] | undefined };

function Named({ label, hint, error, param, children }: NameProps & { children(state: FieldState): ReactNode }) {
  const id = useId();
  const wrong = param !== undefined && isAbout(error, param) ? error.message : undefined;
  const named = useRef<HTMLLabelElement>(null);
  // Each refusal is an error of its own. Its field has the focus as soon as it is shown.
  useLayoutEffect(() => {
    if (param !== undefined && isAbout(error, param)) named.current?.control?.focus();
  }, [error, param]);
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: The control is what is made of the children.
    <label ref={named} className="flex flex-col gap-1">
      <span className="font-medium">{label}</span>
      {children({
        className: `input ${wrong ? '!border-bad' : ''}`,
        'aria-invalid': wrong !== undefined,
        'aria-describedby': wrong || hint ? id : undefined,
      })}
      {(wrong || hint) && (
        <span id={id} className={wrong ? 'text-bad' : 'text-dim'}>
          {wrong ?? hint}
        </span>
      )}
    </label>
  );
}
