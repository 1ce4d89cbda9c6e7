/** A request that fills an empty page, to be copied. */

import { snippetOf, useFirstModel } from '../first-model.ts';
import { useSession } from '../session.ts';
import { Code } from './code.tsx';

export function FirstRequest() {
  const { clientsUrl } = useSession();
  const model = useFirstModel();
  return (
    <div className="mt-3 rounded-lg border text-left">
      <Code language="shell" text={snippetOf('curl', { origin: clientsUrl, model, key: '$POLYGATE_KEY' })} />
    </div>
  );
}
