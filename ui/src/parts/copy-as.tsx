/** Question of a page to the gateway, as a call with curl and as a command of `polygate`. */

import { Terminal } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { useSession } from '../session.ts';
import { ADMIN_TOKEN, type Call, curlOf, quoted } from '../shell.ts';
import { IconButton } from './button.tsx';
import { Dialog } from './dialog.tsx';

// Its colours are loaded when somebody looks.
const Code = lazy(() => import('./code.tsx').then((module) => ({ default: module.Code })));

/** Of the admin API for operators. */
export interface SameCall extends Call {
  /** Absent where there is no equal command. */
  command?: string | undefined;
  /** Parts that they leave out. */
  note?: string | undefined;
  /** It is a call of clients, with a key, for operators too. */
  isOfClients?: boolean;
}

interface CopyAsProps extends SameCall {
  /** Other calls for the same thing, by name. */
  others?: Record<string, SameCall>;
  /** Name of what the call does; an icon with this name stands for the button, as in a row. */
  name?: string;
}

export function CopyAs({ name, others = {}, ...same }: CopyAsProps) {
  const [isOpen, setOpen] = useState(false);
  const open = () => setOpen(true);
  return (
    <>
      {name === undefined ? (
        <button type="button" className="button" onClick={open}>
          <Terminal size={14} aria-hidden />
          Copy as
        </button>
      ) : (
        <IconButton label={`Copy as: ${name}`} icon={Terminal} onClick={open} />
      )}
      <Dialog title="The same in a terminal" isOpen={isOpen} onClose={() => setOpen(false)} wide>
        <Suspense>
          <div className="flex flex-col gap-5">
            <Copies {...same} />
            {Object.entries(others).map(([title, other]) => (
              <Copies key={title} title={title} {...other} />
            ))}
          </div>
        </Suspense>
      </Dialog>
    </>
  );
}

function Copies({ title, command, note, isOfClients = false, ...call }: SameCall & { title?: string }) {
  const { isOperator, clientsUrl, adminUrl } = useSession();
  const isOfAdmin = isOperator && !isOfClients;
  const origin = isOfAdmin ? adminUrl : clientsUrl;
  const token = isOfAdmin ? ADMIN_TOKEN : 'POLYGATE_KEY';
  return (
    <>
      {command !== undefined && <Copy heading={headingOf('Command', title)} text={command} />}
      <Copy heading={headingOf('curl', title)} text={curlOf(call, { origin, token })} />
      {note && <p className="text-dim">{note}</p>}
    </>
  );
}

const headingOf = (form: string, title: string | undefined) => (title === undefined ? form : `${title}, ${form}`);

function Copy({ heading, text }: { heading: string; text: string }) {
  return (
    <section>
      <h2 className="mb-2">{heading}</h2>
      <div className="rounded-lg border bg-page">
        <Code language="shell" text={text} />
      </div>
    </section>
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
