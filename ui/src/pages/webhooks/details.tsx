/** One webhook: its attempts, the exact body, headers that are signed now, replay, and the check of its signature. */

import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Film, RotateCw } from 'lucide-react';
import { Spoken } from '../../parts/announcer.tsx';
import { Code } from '../../parts/code.tsx';
import { CopyAs } from '../../parts/copy-as.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Time } from '../../parts/numbers.tsx';
import { Segments } from '../../parts/segments.tsx';
import { ErrorNotice, Loaded } from '../../parts/states.tsx';
import { Status, type Tone } from '../../parts/status.tsx';
import { useSession } from '../../session.ts';
import { AttemptList } from './attempts.tsx';
import {
  bodyOfDelivery,
  type Delivery,
  deliveryOf,
  pathOfDelivery,
  replayOf,
  type SentBody,
  useReplay,
  webhookSecrets,
} from './query.ts';
import { SENT_TABS } from './search.ts';
import { SignatureForm } from './signature-form.tsx';

const route = getRouteApi('/webhooks');

export function DeliveryDetails({ task }: { task: string }) {
  const { isOperator } = useSession();
  const asked = useQuery(deliveryOf(isOperator, task));
  return <Loaded asked={asked}>{(delivery) => <Detail delivery={delivery} />}</Loaded>;
}

function Detail({ delivery }: { delivery: Delivery }) {
  const { isOperator, mayChange } = useSession();
  const sent = useQuery(bodyOfDelivery(isOperator, delivery.task_id));
  const replay = useReplay(delivery.task_id);
  const path = pathOfDelivery(isOperator, delivery.task_id);
  return (
    <div className="flex flex-col gap-6">
      <div className="flex flex-col gap-3">
        <p className="flex flex-wrap items-center gap-2">
          <DeliveryState state={delivery.state} />
          <span className="min-w-0 break-all">{delivery.url}</span>
        </p>
        <div className="flex flex-wrap gap-2">
          {mayChange && (
            <button type="button" className="button" disabled={replay.isPending} onClick={() => replay.mutate()}>
              <RotateCw size={14} aria-hidden />
              Send it again
            </button>
          )}
          <Link className="button" to="/videos" search={{ open: delivery.task_id }}>
            <Film size={14} aria-hidden />
            Its video
          </Link>
          <CopyAs
            path={path}
            others={{
              'What is sent': { path: `${path}/body` },
              ...(mayChange && { 'Send it again': { path: replayOf(isOperator, delivery.task_id), method: 'POST' } }),
            }}
          />
          <Spoken className="self-center text-good">
            {replay.isSuccess && 'It is sent once more, with the same bytes.'}
          </Spoken>
        </div>
        {replay.error && <ErrorNotice error={replay.error} />}
      </div>
      <section>
        <h2 className="mb-2">Attempts</h2>
        <AttemptList attempts={delivery.attempts} />
      </section>
      <section>
        <h2 className="mb-2">Facts</h2>
        <Facts
          rows={[
            ['Idempotency key', <code key="id">{delivery.id}</code>],
            ...(isOperator && delivery.key ? [['Key', delivery.key_name ?? delivery.key] as const] : []),
            ['Created', <Time key="created" at={delivery.created_at} />],
            ['Settled', delivery.settled_at ? <Time key="settled" at={delivery.settled_at} /> : 'not yet'],
            ['Next attempt', delivery.next_attempt_at ? <Time key="next" at={delivery.next_attempt_at} /> : '—'],
          ]}
        />
      </section>
      <section>
        <h2 className="mb-2">What is sent</h2>
        <Loaded asked={sent}>{(body) => <Sent body={body} keyHash={delivery.key} />}</Loaded>
      </section>
    </div>
  );
}

function Sent({ body, keyHash }: { body: SentBody; keyHash: string | undefined }) {
  const { isAdmin, mayChange } = useSession();
  // To read it leaves an entry in the audit log.
  const canRead = isAdmin ? keyHash !== undefined : mayChange;
  const { tab = 'body' } = route.useSearch();
  const navigate = route.useNavigate();
  const headers = Object.entries(body.headers ?? {})
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
  return (
    <div className="flex flex-col gap-3">
      <Segments
        label="Part"
        values={SENT_TABS}
        value={tab}
        names={{ body: 'Body', headers: 'Headers', signature: 'Check a signature' }}
        onChange={(next) => navigate({ search: (search) => ({ ...search, tab: next }), replace: true })}
      />
      {tab === 'body' && (
        <div className="rounded-lg border [&_pre]:whitespace-pre-wrap [&_pre]:wrap-anywhere">
          <Code language="json" text={body.body} />
        </div>
      )}
      {tab === 'headers' && (
        <>
          <div className="rounded-lg border">
            <Code text={headers} />
          </div>
          <p className="text-dim">
            Signed now, with the secret of today and the time of the last attempt: what was sent is not kept. If the
            secret has changed since, the receiver got other signatures.
          </p>
        </>
      )}
      {tab === 'signature' && (
        <SignatureForm
          sent={body}
          headers={headers}
          readSecrets={canRead ? () => webhookSecrets(isAdmin ? keyHash : undefined) : undefined}
        />
      )}
    </div>
  );
}

const TONES: Record<Delivery['state'], Tone> = { pending: 'quiet', delivered: 'good', exhausted: 'bad' };

export function DeliveryState({ state }: { state: Delivery['state'] }) {
  return <Status tone={TONES[state]}>{state}</Status>;
}
