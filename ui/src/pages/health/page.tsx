/** Health: endpoints with their circuits, success and times, gateways, and the store. */

import { useQuery } from '@tanstack/react-query';
import { Age, Time } from '../../parts/numbers.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { numbers, Table } from '../../parts/table.tsx';
import { SaveRows } from '../../parts/table-tools.tsx';
import { EndpointTable } from './endpoints.tsx';
import { EVERY_MS, endpointHealth, type Replicas, replicaList } from './query.ts';
import { StoreCard } from './store.tsx';

export function HealthPage() {
  const endpoints = useQuery(endpointHealth);
  const replicas = useQuery({ ...replicaList, refetchInterval: EVERY_MS });
  const here = replicas.data?.data.find(({ answers }) => answers);
  const others = (replicas.data?.data.length ?? 1) - 1;
  return (
    <Page
      title="Health"
      about="Endpoints as the attempts of the last day found them, the gateways that run, and their store."
    >
      <Card
        title="Endpoints"
        actions={
          <div className="flex flex-wrap items-center gap-3">
            {here && others > 0 && (
              <span className="text-dim">
                as gateway <span className="font-mono">{shortOf(here.id)}</span> knows them; the others have their own
              </span>
            )}
            <SaveRows file="endpoints" rows={endpoints.data ?? []} />
          </div>
        }
      >
        <Loaded asked={endpoints}>{(all) => <EndpointTable endpoints={all} />}</Loaded>
      </Card>
      <Card title="Gateways" actions={<SaveRows file="gateways" rows={replicas.data?.data ?? []} />}>
        <Loaded asked={replicas}>{({ data }) => <ReplicaTable replicas={data} />}</Loaded>
      </Card>
      <StoreCard everyMs={EVERY_MS} />
    </Page>
  );
}

const shortOf = (id: string): string => id.slice(0, 8);

function ReplicaTable({ replicas }: { replicas: Replicas['data'] }) {
  if (replicas.length === 0)
    return <Empty title="No gateway has reported yet">Each does so within a few seconds.</Empty>;
  const versions = new Set(replicas.map(({ version }) => version));
  return (
    <>
      {versions.size > 1 && <p className="border-b p-3 text-warn">Gateways of {versions.size} versions run.</p>}
      <Table label="Gateways that run" columns={['Gateway', 'Role', 'Version', numbers('Started'), numbers('Age')]}>
        {replicas.map(({ id, role, version, started_at: started, answers }) => (
          <tr key={id}>
            <td>
              <span className="flex flex-wrap items-center gap-2">
                <span className="font-mono">{id}</span>
                {answers && <Status tone="good">answers this page</Status>}
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
          </tr>
        ))}
      </Table>
    </>
  );
}
