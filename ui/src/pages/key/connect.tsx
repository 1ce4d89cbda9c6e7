/** Snippets that send a first request to this gateway. */

import { getRouteApi } from '@tanstack/react-router';
import { LANGUAGE_OF, PROGRAMS, type Program, programOf, snippetOf, useFirstModel } from '../../first-model.ts';
import { Code } from '../../parts/code.tsx';
import { Card } from '../../parts/page.tsx';
import { Segments } from '../../parts/segments.tsx';
import { useSession } from '../../session.ts';

const route = getRouteApi('/key');

export function Connect() {
  const { clientsUrl } = useSession();
  const model = useFirstModel();
  const program = programOf(route.useSearch().program);
  const navigate = route.useNavigate();
  const choose = (next: Program) =>
    navigate({ search: (search) => ({ ...search, program: next }), replace: true, resetScroll: false });
  return (
    <Card
      title="Connect a program"
      actions={<Segments label="Program" values={PROGRAMS} value={program} onChange={choose} />}
    >
      <Code
        text={snippetOf(program, { origin: clientsUrl, model, key: '$POLYGATE_KEY' })}
        language={LANGUAGE_OF[program]}
      />
    </Card>
  );
}
