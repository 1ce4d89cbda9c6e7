/** Snippets that send a first request to this gateway. */

import { useState } from 'react';
import { Code } from '../../parts/code.tsx';
import { Card } from '../../parts/page.tsx';
import { Segments } from '../../parts/segments.tsx';
import { useSession } from '../../session.ts';
import { LANGUAGE_OF, PROGRAMS, type Program, snippetOf } from '../../snippets.ts';

export function Connect() {
  const { clientsUrl } = useSession();
  const [program, setProgram] = useState<Program>('curl');
  return (
    <Card
      title="Connect a program"
      actions={<Segments label="Program" values={PROGRAMS} value={program} onChange={setProgram} />}
    >
      <Code
        text={snippetOf(program, { origin: clientsUrl, model: 'sandbox/echo', key: '$POLYGATE_KEY' })}
        language={LANGUAGE_OF[program]}
      />
    </Card>
  );
}
