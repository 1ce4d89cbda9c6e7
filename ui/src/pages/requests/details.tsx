/** One request: a sentence, its attempts in time, the candidates with reasons, and the sum of its cost. */

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { tagsOf } from '../../keys.ts';
import { CopyAs } from '../../parts/copy-as.tsx';
import { Facts } from '../../parts/facts.tsx';
import { formatCount, formatMs, Time } from '../../parts/numbers.tsx';
import { Loaded } from '../../parts/states.tsx';
import { useSession } from '../../session.ts';
import { Charge } from './charge.tsx';
import { Dropped } from './dropped.tsx';
import { CHOICES } from './filter-words.ts';
import { Headers } from './headers.tsx';
import { writtenPolicy } from './policy.ts';
import { type RequestDetail, requestDetail } from './query.ts';
import { Candidates, Policy } from './routing.tsx';
import { RequestStatus } from './status.tsx';
import { Waterfall } from './waterfall.tsx';

export function RequestDetails({ id }: { id: string }) {
  const { isOperator } = useSession();
  const asked = useQuery(requestDetail(isOperator, id));
  return <Loaded asked={asked}>{(detail) => <Detail detail={detail} />}</Loaded>;
}

function Detail({ detail }: { detail: RequestDetail }) {
  const { trace } = detail;
  const isRunning = detail.status === 'running';
  return (
    <div className="flex flex-col gap-6">
      <div>
        <code className="block truncate text-dim">{detail.id}</code>
        <p className="mt-2 flex flex-wrap items-center gap-2 text-[1.05rem]">
          <RequestStatus view={detail} />
          {sentenceOf(detail)}
        </p>
        <Onward detail={detail} />
      </div>
      {trace ? (
        <>
          <section>
            <h2 className="mb-2">Attempts</h2>
            <Waterfall trace={trace} totalMs={detail.total_ms ?? 0} />
          </section>
          <section>
            <h2 className="mb-2">Candidates</h2>
            <Candidates trace={trace} />
          </section>
          <Policy policy={trace.policy} />
        </>
      ) : (
        <p className="text-dim">
          {isRunning
            ? 'Its attempts, tokens and cost are known when it ends.'
            : 'Its routing was not kept: usage.trace in the configuration says of which requests it is.'}
        </p>
      )}
      {!isRunning && <Charge detail={detail} />}
      <Dropped detail={detail} />
      {trace && <Headers trace={trace} />}
      <section>
        <h2 className="mb-2">Facts</h2>
        <Facts
          rows={[
            [
              'Key',
              <Link
                key="key"
                to="/requests"
                search={{ key: detail.key_hash }}
                className="text-accent underline-offset-4 hover:underline"
              >
                {detail.key_name ?? detail.key_hash}
              </Link>,
            ],
            ['Tags', <Tags key="tags" tags={tagsOf(detail)} />],
            ['Asked for', detail.requested_model],
            [isRunning ? 'Runs at' : 'Answered by', detail.model],
            ['Wire', `${detail.protocol} → ${detail.upstream_protocol}${detail.path ? `, ${detail.path}` : ''}`],
            ['Streamed', detail.streamed ? 'yes' : 'no'],
            [
              'Tools that failed',
              detail.tool_failures === null ? 'not said in this protocol' : formatCount(detail.tool_failures),
            ],
            ['Ended because', detail.finish_reason ?? '—'],
            ['Conversation', detail.session ?? '—'],
            ['Begun', <Time key="begun" at={detail.started_at} />],
            ['First byte', detail.first_byte_ms === null ? '—' : formatMs(detail.first_byte_ms)],
            ['Whole answer', detail.total_ms === null ? '—' : formatMs(detail.total_ms)],
            ['Id upstream', detail.upstream_id ?? '—'],
          ]}
        />
      </section>
    </div>
  );
}

/** Pages that go on with its model, protocol and policy. Prompts are not kept, so that none is filled in. */
function Onward({ detail: { id, protocol, requested_model: model, key_hash: key, trace } }: { detail: RequestDetail }) {
  const { isOperator, mayChange } = useSession();
  const wire = CHOICES.protocol.find((one) => one === protocol);
  const { provider } = writtenPolicy(trace?.policy ?? null);
  const policy = Object.keys(provider).length > 0 ? JSON.stringify(provider) : undefined;
  return (
    <div className="mt-3 flex flex-wrap gap-2">
      {wire && mayChange && (
        <Link className="button" to="/playground" search={{ wire, models: model, policy, ...(isOperator && { key }) }}>
          Open in the playground
        </Link>
      )}
      {wire && isOperator && (
        <Link className="button" to="/explain" search={{ protocol: wire, model, policy }}>
          Explain its routing
        </Link>
      )}
      <CopyAs path={`${isOperator ? '/admin/v1' : '/v1/self'}/requests/${id}`} />
    </div>
  );
}

/** Each leads to the requests of keys that had it. */
function Tags({ tags }: { tags: readonly string[] }) {
  if (tags.length === 0) return '—';
  return (
    <span className="flex flex-wrap gap-x-3">
      {tags.map((tag) => (
        <Link key={tag} to="/requests" search={{ tag }} className="text-accent underline-offset-4 hover:underline">
          {tag}
        </Link>
      ))}
    </span>
  );
}

function sentenceOf({ model, attempts, status, trace, total_ms: totalMs }: RequestDetail): string {
  if (status === 'running') return `Runs at ${model}.`;
  const failed = trace?.attempts
    .slice(0, -1)
    .map(({ endpoint, error, status: code }) => `${error ?? code} of ${endpoint}`);
  const after = attempts > 1 ? `, attempt ${attempts}${failed?.length ? ` after ${failed.join(' and ')}` : ''}` : '';
  const time = totalMs === null ? '' : ` in ${formatMs(totalMs)}`;
  return status === 'completed' ? `Answered by ${model}${time}${after}.` : `Ended at ${model}${time}${after}.`;
}
