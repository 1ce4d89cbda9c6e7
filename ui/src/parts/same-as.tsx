/** A form's change as a command of `polygate` and as a call of the API, to be copied. */

import { useState } from 'react';
import { useSession } from '../session.ts';
import { ADMIN_TOKEN, type Call, curlOf } from '../shell.ts';
import { Code } from './code.tsx';
import { Segments } from './segments.tsx';

const FORMS = ['Command', 'API'] as const;

interface SameAsProps {
  command: string;
  /** Of the admin API. */
  call: Call;
  /** Parts that the command leaves out. */
  note?: string | undefined;
}

export function SameAs({ command, call, note }: SameAsProps) {
  const { adminUrl } = useSession();
  const [shown, setShown] = useState<(typeof FORMS)[number]>('Command');
  return (
    <section aria-label="The same as" className="min-w-0">
      <div className="mb-2 flex items-center justify-between gap-2">
        <h2>The same as</h2>
        <Segments label="Form" values={FORMS} value={shown} onChange={setShown} />
      </div>
      <div className="rounded-lg border bg-page">
        <Code
          language="shell"
          text={shown === 'Command' ? command : curlOf(call, { origin: adminUrl, token: ADMIN_TOKEN })}
        />
      </div>
      {shown === 'Command' && note && <p className="mt-2 text-dim">{note}</p>}
    </section>
  );
}
