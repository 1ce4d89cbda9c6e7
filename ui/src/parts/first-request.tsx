/** A request that fills an empty page, to be copied. */

import { useSession } from '../session.ts';
import { snippetOf } from '../snippets.ts';
import { Code } from './code.tsx';

const MODEL = 'sandbox/echo';

export function FirstRequest() {
  const { clientsUrl } = useSession();
  return (
    <div className="mt-3 rounded-lg border text-left">
      <Code language="shell" text={snippetOf('curl', { origin: clientsUrl, model: MODEL, key: '$POLYGATE_KEY' })} />
    </div>
  );
}
