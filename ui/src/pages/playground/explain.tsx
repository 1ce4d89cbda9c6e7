/** Order of endpoints for the request of a run: as it would be now for operators, as it was for holders of keys. */

import { useQuery } from '@tanstack/react-query';
import { api, bodyOf } from '../../api.ts';
import { Loaded } from '../../parts/states.tsx';
import { useSession } from '../../session.ts';
import { Candidates, type Explanation } from '../explain/candidates.tsx';
import { type RequestDetail, requestDetail } from '../requests/query.ts';
import type { Run } from './run.ts';

export function ExplainView({ run }: { run: Run }) {
  const { isOperator } = useSession();
  return isOperator ? <AsItIsNow run={run} /> : <AsItWas run={run} />;
}

function AsItIsNow({ run }: { run: Run }) {
  const { wire: protocol, model, sent } = run;
  const asked = useQuery({
    queryKey: ['explain', protocol, model, sent],
    retry: false,
    queryFn: async ({ signal }) => {
      const policy = sent.policy === undefined ? undefined : JSON.parse(sent.policy);
      const body = { protocol, model, body: sent.body, ...(policy && { policy }) };
      return (await bodyOf<{ data: Explanation }>(api.POST('/admin/v1/explain', { body: body as never, signal }))).data;
    },
  });
  return <Loaded asked={asked}>{(explanation) => <Candidates explanation={explanation} />}</Loaded>;
}

function AsItWas({ run }: { run: Run }) {
  const isOver = run.state !== 'running' && run.requestId !== undefined;
  const asked = useQuery({ ...requestDetail(false, run.requestId ?? ''), enabled: isOver });
  if (run.state !== 'running' && run.requestId === undefined) return <p className="p-4 text-dim">It was not sent.</p>;
  return (
    <Loaded asked={asked}>
      {({ model, trace }) =>
        trace ? (
          <Candidates explanation={{ requested: run.model, model, candidates: candidatesOf(trace, model) }} />
        ) : (
          <p className="p-4 text-dim">How it was routed was not kept.</p>
        )
      }
    </Loaded>
  );
}

/** A model with one endpoint has no list of candidates. */
function candidatesOf(
  { candidates, attempts }: NonNullable<RequestDetail['trace']>,
  model: string,
): Explanation['candidates'] {
  if (candidates.length === 0)
    return attempts.map(({ endpoint, path, dropped }) => ({ endpoint, model, path, dropped }));
  return candidates.map((candidate) => {
    const tried = attempts.find(({ endpoint }) => endpoint === candidate.endpoint);
    return { ...candidate, ...(tried && { path: tried.path, dropped: tried.dropped }) };
  });
}
