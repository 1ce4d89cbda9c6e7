/** Webhooks: a line for each with its attempts, how their receivers fare, and one in all details. */

import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { ShieldCheck } from 'lucide-react';
import { TimeZone } from '../../parts/clock-time.tsx';
import { pathWith } from '../../parts/copy-as.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { ChoiceFilter, KeyFilter, PagesCount } from '../../parts/list-filters.tsx';
import { formatCount, Time } from '../../parts/numbers.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Panel } from '../../parts/panel.tsx';
import { RangePicker } from '../../parts/range-picker.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { type Column, FilterLine, numbers, Older, SearchField, Table } from '../../parts/table.tsx';
import { TableTools } from '../../parts/table-tools.tsx';
import { useTimeFilter } from '../../parts/time-filter.ts';
import { Unanswered } from '../../parts/unanswered.tsx';
import { useListKeys } from '../../parts/use-list-keys.ts';
import { useSession } from '../../session.ts';
import { LOCAL_ZONE, useSpan } from '../../spans.ts';
import { AnySignature } from './any-signature.tsx';
import { AttemptDots, OUTCOME_WORDS } from './attempts.tsx';
import { DeliveryDetails, DeliveryState } from './details.tsx';
import { type Delivery, receiverList, useDeliveries } from './query.ts';
import { Receivers } from './receivers.tsx';
import { DELIVERY_STATES, OUTCOMES } from './search.ts';

const route = getRouteApi('/webhooks');

export function WebhooksPage() {
  const {
    open,
    tab,
    check,
    receivers: receiversShown,
    find,
    range,
    from,
    to,
    zone = LOCAL_ZONE,
    ...rest
  } = route.useSearch();
  const time = { range, from, to, zone };
  const span = useSpan(time);
  const created = useTimeFilter(time);
  const filters = { ...rest, search: find, ...created };
  const navigate = route.useNavigate();
  const { isOperator } = useSession();
  const change = (next: Partial<ReturnType<typeof route.useSearch>>) =>
    navigate({ search: (search) => ({ ...search, ...next }), replace: true });
  const path = isOperator ? '/admin/v1/deliveries' : '/v1/self/deliveries';
  const pages = useDeliveries(filters);
  const deliveries = pages.data?.pages.flatMap(({ data }) => data) ?? [];
  const receivers = useQuery(receiverList(isOperator, created));
  const hosts = [...new Set([filters.host, ...(receivers.data?.data.map(({ host }) => host) ?? [])])].filter(
    (host) => host !== undefined,
  );
  return (
    <TimeZone value={zone}>
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
        <RangePicker time={time} span={span} byDefault="any" onChange={change} />
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
            <ChoiceFilter
              label="State"
              none="Any state"
              value={filters.state}
              values={DELIVERY_STATES}
              onChange={(state) => change({ state })}
            />
            <ChoiceFilter
              label="Receiver"
              none="All receivers"
              value={filters.host}
              values={hosts}
              onChange={(host) => change({ host })}
            />
            <ChoiceFilter
              label="Last attempt"
              none="Any last attempt"
              value={filters.outcome}
              values={OUTCOMES}
              wordsOf={(outcome) => OUTCOME_WORDS[outcome]}
              onChange={(outcome) => change({ outcome })}
            />
            <KeyFilter value={filters.key} onChange={(key) => change({ key })} />
            <PagesCount shown={deliveries.length} pages={pages.data?.pages} />
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
    </TimeZone>
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
