/** Health: endpoints with their circuits, success and times, gateways, and the store. */

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { Spoken } from '../../parts/announcer.tsx';
import { Age, Time } from '../../parts/numbers.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { numbers, Table } from '../../parts/table.tsx';
import { TableTools } from '../../parts/table-tools.tsx';
import { EndpointDetails, UnusedEndpoint } from './details.tsx';
import { ENDPOINT_COLUMNS, ENDPOINT_TABLE, EndpointTable } from './endpoints.tsx';
import { GatewayDetails } from './gateway.tsx';
import { type EndpointList, EVERY_MS, endpointHealth, nameOf, type Replicas, replicaList } from './query.ts';
import { StoreCard } from './store.tsx';

const route = getRouteApi('/health');

export function HealthPage() {
  const { open, gateway } = route.useSearch();
  const navigate = route.useNavigate();
  const show = (panel: { open?: string; gateway?: string }) => void navigate({ search: panel, replace: true });
  const endpoints = useQuery(endpointHealth);
  const replicas = useQuery({ ...replicaList, refetchInterval: EVERY_MS });
  return (
    <Page
      title="Health"
      about="Endpoints as the attempts of the last day found them, the gateways that run, and their store."
    >
      <Partial replicas={replicas.data?.data} />
      <Card
        title="Endpoints"
        actions={
          <div className="ml-auto flex flex-wrap items-center gap-3">
            {endpoints.data && <Sources list={endpoints.data} />}
            <TableTools
              table={ENDPOINT_TABLE}
              columns={ENDPOINT_COLUMNS}
              file="endpoints"
              rows={endpoints.data?.data ?? []}
              same={{
                path: '/admin/v1/health/endpoints',
                command: 'polygate top --once',
                note: 'The command tells of the last five minutes, from the requests of all gateways.',
              }}
            />
          </div>
        }
      >
        <Loaded asked={endpoints}>
          {({ data }) => <EndpointTable endpoints={data} open={open} onOpen={(name) => show({ open: name })} />}
        </Loaded>
      </Card>
      <Card
        title="Gateways"
        actions={
          <TableTools
            table={GATEWAY_TABLE}
            columns={GATEWAY_COLUMNS}
            file="gateways"
            rows={replicas.data?.data ?? []}
            same={{ path: '/admin/v1/health/replicas' }}
          />
        }
      >
        <Loaded asked={replicas}>
          {({ data }) => <ReplicaTable replicas={data} open={gateway} onOpen={(id) => show({ gateway: id })} />}
        </Loaded>
      </Card>
      <StoreCard everyMs={EVERY_MS} />
      <Panel title={open ?? ''} isOpen={open !== undefined} onClose={() => show({})}>
        <Loaded asked={endpoints}>
          {({ data, complete }) => {
            const endpoint = data.find((one) => nameOf(one) === open) ?? data.find((one) => one.endpoint === open);
            if (!endpoint) return <UnusedEndpoint name={open ?? ''} />;
            return <EndpointDetails endpoint={endpoint} isComplete={complete} />;
          }}
        </Loaded>
      </Panel>
      <Panel title={gateway ?? ''} isOpen={gateway !== undefined} onClose={() => show({})}>
        <Loaded asked={replicas}>
          {({ data }) => {
            const one = data.find(({ id }) => id === gateway);
            if (!one) return <Empty title="This gateway does not run any more" />;
            return <GatewayDetails gateway={one} replicas={data} list={endpoints.data} />;
          }}
        </Loaded>
      </Panel>
    </Page>
  );
}

/** Gateway whose knowledge the endpoints are. */
function Sources({ list: { complete, gateways } }: { list: EndpointList }) {
  if (!complete) return <span className="text-warn">as this gateway alone knows them: the store does not answer</span>;
  const gone = gateways.filter((one) => one.gone).length;
  const alive = gateways.length - gone;
  const words = [
    ...(alive > 1 ? [`as ${alive} gateways know them`] : []),
    ...(gone > 0 ? [`with counts of ${gone} that ran before`] : []),
  ];
  return words.length === 0 ? null : <span className="text-dim">{words.join(', ')}</span>;
}

/** Names the gateways that give no sign, and those that went while the page was open. */
function Partial({ replicas }: { replicas: Replicas['data'] | undefined }) {
  const gone = useGone(replicas);
  const silent = replicas?.filter((one) => one.silent) ?? [];
  if (silent.length === 0 && gone.length === 0) return null;
  return (
    <div className="rounded-lg bg-warn-soft px-4 py-3">
      {/* Ages change, and are not said again. */}
      <Spoken className="sr-only">
        {silent.length} give no sign, {gone.length} are gone.
      </Spoken>
      {silent.map(({ id, role, seen_at: seen }) => (
        <p key={id}>
          {role === 'worker' ? 'Worker' : 'Gateway'} <span className="break-all font-mono">{id}</span> gives no sign:
          its last one was <Age at={Date.parse(seen)} />. Of endpoints it is shown what it knew then.
        </p>
      ))}
      {gone.map(({ id, role }) => (
        <p key={id}>
          {role === 'worker' ? 'Worker' : 'Gateway'} <span className="break-all font-mono">{id}</span> is gone since
          this page was opened: it was stopped, or gave no sign for half a minute.
        </p>
      ))}
    </div>
  );
}

/** Those that were there before, and are not any more. */
function useGone(replicas: Replicas['data'] | undefined): Replicas['data'] {
  const [seen, setSeen] = useState<ReadonlyMap<string, Replicas['data'][number]>>(new Map());
  useEffect(() => {
    if (replicas?.some(({ id }) => !seen.has(id))) {
      setSeen(new Map([...seen, ...replicas.map((one) => [one.id, one] as const)]));
    }
  }, [replicas, seen]);
  const here = new Set(replicas?.map(({ id }) => id));
  return replicas ? [...seen.values()].filter(({ id }) => !here.has(id)) : [];
}

const GATEWAY_TABLE = 'Gateways that run';
const GATEWAY_COLUMNS = ['Gateway', 'Role', 'Version', numbers('Started'), numbers('Age'), numbers('Last sign')];

interface ReplicaTableProps {
  replicas: Replicas['data'];
  /** Id of the row that is open. */
  open: string | undefined;
  onOpen(id: string): void;
}

function ReplicaTable({ replicas, open, onOpen }: ReplicaTableProps) {
  if (replicas.length === 0)
    return <Empty title="No gateway has reported yet">Each does so within a few seconds.</Empty>;
  const versions = new Set(replicas.map(({ version }) => version));
  return (
    <>
      {versions.size > 1 && <p className="border-b p-3 text-warn">Gateways of {versions.size} versions run.</p>}
      <Table label={GATEWAY_TABLE} columns={GATEWAY_COLUMNS}>
        {replicas.map(({ id, role, version, started_at: started, seen_at: seen, silent, answers }) => (
          <tr key={id} data-opens data-open={id === open ? '' : undefined}>
            <td>
              <span className="flex flex-wrap items-center gap-2">
                <button
                  type="button"
                  className="min-h-[24px] text-left font-mono max-sm:max-w-32 max-sm:truncate"
                  title={id}
                  onClick={() => onOpen(id)}
                >
                  {id}
                </button>
                {answers && <Status tone="good">answers this page</Status>}
                {silent && <Status tone="bad">silent</Status>}
              </span>
            </td>
            <td>{role}</td>
            <td>{version ?? <span className="text-dim">unknown</span>}</td>
            <td className="number">
              <Time at={started} />
            </td>
            <td className="number">
              <Age at={Date.parse(started)} />
            </td>
            <td className="number">
              <Age at={Date.parse(seen)} />
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}
