/** What a page asks the gateway for, as a call with curl and as a command of `polygate`. */

import { Terminal } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { useSession } from '../session.ts';
import { ADMIN_TOKEN, type Call, curlOf, quoted } from '../shell.ts';
import { Dialog } from './dialog.tsx';

// Its colours are loaded when somebody looks.
const Code = lazy(() => import('./code.tsx').then((module) => ({ default: module.Code })));

/** Of the admin API for operators. */
export interface SameCall extends Call {
  /** Absent where there is no equal command. */
  command?: string | undefined;
  /** What they leave out. */
  note?: string | undefined;
  /** It is a call of clients, with a key, for operators too. */
  isOfClients?: boolean;
}

export function CopyAs({ command, note, isOfClients = false, ...call }: SameCall) {
  const [isOpen, setOpen] = useState(false);
  const { isOperator, clientsUrl, adminUrl } = useSession();
  const isOfAdmin = isOperator && !isOfClients;
  const origin = isOfAdmin ? adminUrl : clientsUrl;
  const token = isOfAdmin ? ADMIN_TOKEN : 'POLYGATE_KEY';
  return (
    <>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        <Terminal size={14} aria-hidden />
        Copy as
      </button>
      <Dialog title="The same in a terminal" isOpen={isOpen} onClose={() => setOpen(false)} wide>
        <Suspense>
          <div className="flex flex-col gap-5">
            {command !== undefined && (
              <section>
                <h2 className="mb-2">Command</h2>
                <div className="rounded-lg border bg-page">
                  <Code language="shell" text={command} />
                </div>
              </section>
            )}
            <section>
              <h2 className="mb-2">curl</h2>
              <div className="rounded-lg border bg-page">
                <Code language="shell" text={curlOf(call, { origin, token })} />
              </div>
            </section>
            {note && <p className="text-dim">{note}</p>}
          </div>
        </Suspense>
      </Dialog>
    </>
  );
}

/** Path with a query of what is given. */
export function pathWith(path: string, given: Record<string, string | number | boolean | undefined>): string {
  const query = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return query.length === 0 ? path : `${path}?${new URLSearchParams(query)}`;
}

/** Command with the options that have a value; those that are true have none. */
export function commandWith(command: string, options: Record<string, string | boolean | undefined>): string {
  const words = Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined || value === false || value === '') return [];
    return value === true ? [name] : [name, quoted(value)];
  });
  return [command, ...words].join(' ');
}
