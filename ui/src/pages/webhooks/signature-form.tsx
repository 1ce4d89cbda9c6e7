/** Check of a signature in the browser: what is pasted goes nowhere, and the verdict says which part is wrong. */

import { useMutation } from '@tanstack/react-query';
import { KeyRound } from 'lucide-react';
import { type FormEvent, type ReactNode, useRef, useState } from 'react';
import {
  checkSignature,
  type SignatureCheck,
  type SignatureVerdict,
} from '../../../../src/webhooks/signature-check.ts';
import { Spoken } from '../../parts/announcer.tsx';
import { ErrorNotice } from '../../parts/states.tsx';
import { Status, type Tone } from '../../parts/status.tsx';
import { gatewayNow } from '../../times.ts';
import type { SentBody } from './query.ts';

interface SignatureFormProps {
  /** The webhook that it is about, where that is known. */
  sent?: SentBody;
  headers?: string;
  /** Reads the secrets of the key whose webhook it is; absent where nobody may. */
  readSecrets?: (() => Promise<string[]>) | undefined;
  /** Choice of that key, where it is not known. */
  picker?: ReactNode;
}

/** Browsers have no HMAC for pages over plain http, but those of this machine. */
const CAN_CHECK = (crypto as Partial<Crypto>).subtle !== undefined;

export function SignatureForm({ sent, headers = '', readSecrets, picker }: SignatureFormProps) {
  const [check, setCheck] = useState<SignatureCheck>();
  const form = useRef<HTMLFormElement>(null);
  const read = useMutation({
    gcTime: 0,
    mutationFn: async () => readSecrets?.() ?? [],
    onSuccess(secrets) {
      const field = form.current?.elements.namedItem('secret');
      if (field instanceof HTMLTextAreaElement) field.value = secrets.join('\n');
    },
  });

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const text = (name: string) => String(fields.get(name) ?? '');
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
        now: gatewayNow(),
      }),
    );
  }

  return (
    <form ref={form} className="flex flex-col gap-4" onSubmit={submit} onChange={() => setCheck(undefined)}>
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
        <button type="submit" className="button button-primary" disabled={!CAN_CHECK}>
          Check
        </button>
        {picker}
        {readSecrets && (
          <button type="button" className="button" disabled={read.isPending} onClick={() => read.mutate()}>
            <KeyRound size={14} aria-hidden />
            Use the secret of its key
          </button>
        )}
      </div>
      {!CAN_CHECK && (
        <p role="alert" className="text-warn">
          A browser checks signatures only on pages over https, or on its own machine. This page came over plain http.
        </p>
      )}
      {readSecrets && <p className="text-dim">To use the secret of the key leaves an entry in the audit log.</p>}
      {read.error && <ErrorNotice error={read.error} />}
      <Spoken as="div" className="flex flex-col gap-3">
        {check && <Verdict header="x-service-signature" verdict={check.service} />}
        {check && <Verdict header="webhook-signature" verdict={check.standard} />}
      </Spoken>
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
