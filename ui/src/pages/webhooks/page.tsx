/** Webhooks: a line for each with its attempts, how their receivers fare, and one in all details. */

import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { ShieldCheck } from 'lucide-react';
import { pathWith } from '../../parts/copy-as.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { KeyPicker } from '../../parts/key-picker.tsx';
import { formatCount, Time } from '../../parts/numbers.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Select } from '../../parts/select.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { Status, type Tone } from '../../parts/status.tsx';
import { type Column, FilterLine, numbers, Older, SearchField, ShownCount, Table } from '../../parts/table.tsx';
import { TableTools } from '../../parts/table-tools.tsx';
import { Unanswered } from '../../parts/unanswered.tsx';
import { useListKeys } from '../../parts/use-list-keys.ts';
import { useSession } from '../../session.ts';
import { AnySignature } from './any-signature.tsx';
import { AttemptDots, OUTCOME_WORDS } from './attempts.tsx';
import { DeliveryDetails } from './details.tsx';
import { type Delivery, type ReceiverFigures, receiverList, useDeliveries } from './query.ts';
import { DELIVERY_STATES, OUTCOMES } from './search.ts';

const route = getRouteApi('/webhooks');

export function WebhooksPage() {
  const { open, tab, check, receivers: receiversShown, find, ...rest } = route.useSearch();
  const filters = { ...rest, search: find };
  const navigate = route.useNavigate();
  const { isOperator } = useSession();
  const change = (next: Partial<ReturnType<typeof route.useSearch>>) =>
    navigate({ search: (search) => ({ ...search, ...next }), replace: true });
  const path = isOperator ? '/admin/v1/deliveries' : '/v1/self/deliveries';
  const pages = useDeliveries(filters);
  const deliveries = pages.data?.pages.flatMap(({ data }) => data) ?? [];
  const receivers = useQuery(receiverList(isOperator));
  const hosts = [...new Set([filters.host, ...(receivers.data?.data.map(({ host }) => host) ?? [])])].filter(
    (host) => host !== undefined,
  );
  return (
    <Page
      title="Webhooks"
      about="Notices of videos that ended, and each attempt to deliver them."
      actions={
        <button type="button" className="button" onClick={() => change({ check: true })}>
          <ShieldCheck size={15} aria-hidden />
          Check a signature
        </button>
      }
    >
      <Unanswered sources={[{ name: 'Receivers and their success rates', asked: receivers }]} />
      <Receivers
        figures={receivers.data}
        chosen={filters.host}
        areAllShown={receiversShown === 'all'}
        onShowAll={(all) => change({ receivers: all ? 'all' : undefined })}
        onChoose={(host) => change({ host })}
      />
      <Card>
        <FilterLine>
          <SearchField
            placeholder="Task, event or host"
            value={find ?? ''}
            onChange={(next) => change({ find: next })}
          />
          <Select
            label="State"
            value={filters.state ?? ''}
            options={[{ value: '', label: 'Any state' }, ...DELIVERY_STATES.map((value) => ({ value, label: value }))]}
            onChange={(state) => change({ state: state || undefined })}
          />
          <Select
            label="Receiver"
            value={filters.host ?? ''}
            options={[{ value: '', label: 'All receivers' }, ...hosts.map((host) => ({ value: host, label: host }))]}
            onChange={(host) => change({ host: host || undefined })}
          />
          <Select
            label="Last attempt"
            value={filters.outcome ?? ''}
            options={[
              { value: '', label: 'Any last attempt' },
              ...OUTCOMES.map((value) => ({ value, label: OUTCOME_WORDS[value] })),
            ]}
            onChange={(outcome) => change({ outcome: outcome || undefined })}
          />
          {isOperator && (
            <KeyPicker
              label="Key"
              value={filters.key}
              none="All keys"
              onChange={(key) => change({ key: key || undefined })}
            />
          )}
          <ShownCount
            shown={deliveries.length}
            all={pages.data?.pages[0]?.total ?? deliveries.length}
            isPartial={pages.data?.pages[0]?.total_complete === false}
          />
          <TableTools
            table="Webhooks"
            columns={columnsOf(isOperator)}
            file="webhooks"
            rows={pathWith(path, { ...filters, format: 'csv' })}
            same={{ path: pathWith(path, { ...filters }) }}
          />
        </FilterLine>
        <Loaded asked={{ ...pages, data: pages.data && deliveries }}>
          {(shown) =>
            shown.length === 0 && !pages.hasNextPage ? (
              <NoWebhooks isFiltered={Object.values(filters).some(Boolean)} />
            ) : (
              <DeliveryTable deliveries={shown} open={open} onOpen={(task) => change({ open: task })} />
            )
          }
        </Loaded>
        <Older pages={pages} />
      </Card>
      <Panel
        title="Webhook"
        isOpen={open !== undefined}
        onClose={() => change({ open: undefined, tab: undefined })}
        actions={open && <CopyButton text={open} label="Copy the id of the task" />}
      >
        {open && <DeliveryDetails key={open} task={open} />}
      </Panel>
      <Dialog
        title="Check a signature"
        isOpen={check === true}
        onClose={() => change({ check: undefined })}
        isKept
        wide
      >
        <AnySignature />
      </Dialog>
    </Page>
  );
}

function NoWebhooks({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No webhook is like that" />;
  return (
    <Empty title="No webhooks yet">
      A video that is asked for with a <code>callback_url</code> sends one when it ends. On this machine,{' '}
      <code>polygate webhooks listen --forward http://127.0.0.1:3000/hook</code> brings them to a program.
    </Empty>
  );
}

interface ReceiversProps {
  /** Absent until they are known. */
  figures: { data: ReceiverFigures[]; complete: boolean } | undefined;
  chosen: string | undefined;
  areAllShown: boolean;
  onShowAll(areAllShown: boolean): void;
  onChoose(host: string | undefined): void;
}

/** The busiest ones. */
const FIRST_RECEIVERS = 6;

function Receivers({ figures, chosen, areAllShown, onShowAll, onChoose }: ReceiversProps) {
  if (!figures || figures.data.length === 0) return null;
  const { data: receivers, complete } = figures;
  const shown = areAllShown ? receivers : receivers.slice(0, FIRST_RECEIVERS);
  return (
    <section aria-label="Receivers" className="flex flex-col gap-3">
      <ul className="grid grid-cols-[repeat(auto-fill,minmax(15rem,1fr))] gap-3">
        {shown.map((receiver) => (
          <li key={receiver.host}>
            <Receiver
              receiver={receiver}
              isChosen={receiver.host === chosen}
              onClick={() => onChoose(receiver.host === chosen ? undefined : receiver.host)}
            />
          </li>
        ))}
      </ul>
      {(receivers.length > FIRST_RECEIVERS || !complete) && (
        <p className="flex flex-wrap items-center gap-3 text-dim">
          {receivers.length > FIRST_RECEIVERS && (
            <button type="button" className="button" onClick={() => onShowAll(!areAllShown)}>
              {areAllShown ? `Show the busiest ${FIRST_RECEIVERS}` : `Show all ${formatCount(receivers.length)}`}
            </button>
          )}
          {!complete && 'Of the newest webhooks only: there are too many to count all.'}
        </p>
      )}
    </section>
  );
}

interface ReceiverProps {
  receiver: ReceiverFigures;
  isChosen: boolean;
  onClick(): void;
}

function Receiver({ receiver, isChosen, onClick }: ReceiverProps) {
  const { host, delivered, exhausted, pending, failing_since: since } = receiver;
  const ended = delivered + exhausted;
  return (
    <button
      type="button"
      aria-pressed={isChosen}
      onClick={onClick}
      className="card flex h-full w-full flex-col gap-1 px-4 py-3 text-left hover:border-strong aria-pressed:border-accent"
    >
      <span className="truncate font-medium">{host}</span>
      <span className="flex items-baseline justify-between gap-3">
        <span className="text-[1.2rem] font-medium tabular-nums">
          {ended === 0 ? '—' : `${percent(delivered / ended)} %`}
        </span>
        <span className="text-dim">
          {[
            ...(ended > 0 ? [`${formatCount(delivered)} of ${formatCount(ended)} delivered`] : []),
            ...(pending > 0 ? [`${formatCount(pending)} on the way`] : []),
          ].join(', ')}
        </span>
      </span>
      {since && (
        <span className="text-bad">
          failing since <Time at={since} />
        </span>
      )}
    </button>
  );
}

/** All of them is 100, and nothing else is. */
function percent(share: number): string {
  return share === 1 ? '100' : Math.min(99.9, share * 100).toFixed(1);
}

function columnsOf(isOperator: boolean): Column[] {
  const names = ['Created', 'Event', 'Task', ...(isOperator ? ['Key'] : []), 'Receiver', 'State', 'Attempts'];
  return [...names, numbers('Next attempt'), numbers('Answered in')];
}

interface DeliveryTableProps {
  deliveries: Delivery[];
  open: string | undefined;
  onOpen(task: string): void;
}

function DeliveryTable({ deliveries, open, onOpen }: DeliveryTableProps) {
  const { isOperator } = useSession();
  const rowProps = useListKeys(
    deliveries.map(({ task_id: task }) => task),
    { open, onOpen },
  );
  return (
    <Table label="Webhooks" columns={columnsOf(isOperator)}>
      {deliveries.map((delivery) => {
        const last = delivery.attempts.at(-1);
        return (
          <tr key={delivery.id} data-opens data-open={delivery.task_id === open ? '' : undefined}>
            <td>
              <button type="button" className="text-dim hover:text-ink" {...rowProps(delivery.task_id)}>
                <Time at={delivery.created_at} />
              </button>
            </td>
            <td className="font-medium">{delivery.id.slice(delivery.task_id.length + 1)}</td>
            <td>
              <Link
                to="/videos"
                search={{ open: delivery.task_id }}
                title={delivery.task_id}
                className="inline-block min-h-[24px] content-center font-mono text-xs text-accent underline-offset-4 hover:underline"
              >
                {delivery.task_id.slice(0, 8)}
              </Link>
            </td>
            {isOperator && <td className="max-w-36 truncate">{delivery.key_name ?? delivery.key}</td>}
            <td className="max-w-64 truncate text-dim">{new URL(delivery.url).host}</td>
            <td>
              <DeliveryState state={delivery.state} />
            </td>
            <td>
              <AttemptDots delivery={delivery} />
            </td>
            <td className="number text-dim">
              {delivery.next_attempt_at ? <Time at={delivery.next_attempt_at} withDate={false} /> : '—'}
            </td>
            <td className="number text-dim">
              {last ? `${formatCount(Date.parse(last.ended_at) - Date.parse(last.started_at))} ms` : '—'}
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

const TONES: Record<Delivery['state'], Tone> = { pending: 'quiet', delivered: 'good', exhausted: 'bad' };

export function DeliveryState({ state }: { state: Delivery['state'] }) {
  return <Status tone={TONES[state]}>{state}</Status>;
}
