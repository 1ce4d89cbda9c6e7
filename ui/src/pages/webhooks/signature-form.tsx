/** Check of a signature in the browser: what is pasted goes nowhere, and the verdict says which part is wrong. */

import { type FormEvent, useState } from 'react';
import {
  checkSignature,
  type SignatureCheck,
  type SignatureVerdict,
} from '../../../../src/webhooks/signature-check.ts';
import { Status, type Tone } from '../../parts/status.tsx';
import type { SentBody } from './query.ts';

interface SignatureFormProps {
  /** The webhook that it is about, where that is known. */
  sent?: SentBody;
  headers?: string;
}

export function SignatureForm({ sent, headers = '' }: SignatureFormProps) {
  const [check, setCheck] = useState<SignatureCheck>();

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? '');
    const secrets = text('secret')
      .split('\n')
      .filter((line) => line.trim() !== '');
    // A field of a form ends its lines with CR LF.
    const body = text('body').replaceAll('\r\n', '\n');
    setCheck(
      await checkSignature({
        body,
        headers: headersOf(text('headers')),
        secrets: secrets.map((line) => line.replace(/\r$/, '')),
        sentBody: sent?.body,
        now: Date.now(),
      }),
    );
  }

  return (
    <form className="flex flex-col gap-4" onSubmit={submit} onChange={() => setCheck(undefined)}>
      <p className="text-dim">As your receiver got it. It is checked in this browser, and nothing is sent or kept.</p>
      <Area name="body" label="Body" rows={5} value={sent?.body ?? ''} hint="The bytes as they arrived, not parsed." />
      <Area name="headers" label="Headers" rows={6} value={headers} hint="One on a line, as name: value." />
      <Area
        name="secret"
        label="Secret"
        rows={2}
        value=""
        hint="As it is shown, whsec_ included. Several on lines of their own, the current one first."
      />
      <div className="flex flex-wrap items-center gap-3">
        <button type="submit" className="button button-primary">
          Check
        </button>
      </div>
      <div aria-live="polite" className="flex flex-col gap-3">
        {check && <Verdict header="x-service-signature" verdict={check.service} />}
        {check && <Verdict header="webhook-signature" verdict={check.standard} />}
      </div>
    </form>
  );
}

interface AreaProps {
  name: string;
  label: string;
  rows: number;
  value: string;
  hint: string;
}

function Area({ name, label, rows, value, hint }: AreaProps) {
  return (
    <label className="flex flex-col gap-1">
      <span className="font-medium">{label}</span>
      <textarea
        className="input font-mono text-xs"
        name={name}
        rows={rows}
        defaultValue={value}
        spellCheck={false}
        autoComplete="off"
        required={name !== 'headers'}
      />
      <span className="text-dim">{hint}</span>
    </label>
  );
}

const TONES: Record<SignatureVerdict['state'], Tone> = { valid: 'good', invalid: 'bad', absent: 'quiet' };
const WRONG = { body: 'the body', secret: 'the secret', header: 'the header', timestamp: 'the time' };

function Verdict({ header, verdict: { state, part, message } }: { header: string; verdict: SignatureVerdict }) {
  const word = state === 'invalid' && part ? `wrong: ${WRONG[part]}` : state;
  return (
    <div className="rounded-lg border px-4 py-3">
      <p className="flex flex-wrap items-center gap-2">
        <Status tone={TONES[state]}>{word}</Status>
        <code>{header}</code>
      </p>
      <p className="mt-1.5">{message}</p>
    </div>
  );
}

/** The last one of those with the same name counts. */
function headersOf(text: string): Record<string, string> {
  const lines = text.split(/\r?\n/).flatMap((line) => {
    const mark = line.indexOf(':');
    return mark > 0 ? [[line.slice(0, mark).trim().toLowerCase(), line.slice(mark + 1).trim()] as const] : [];
  });
  return Object.fromEntries(lines);
}
