/** Health: endpoints with their circuits and times, gateways, and the store. */

import { useQuery } from '@tanstack/react-query';
import { api, bodyOf } from '../../api.ts';
import { formatCount, Time } from '../../parts/numbers.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { Status, type Tone } from '../../parts/status.tsx';
import { numbers, Table } from '../../parts/table.tsx';
import { SaveRows } from '../../parts/table-tools.tsx';
import { StoreCard } from './store.tsx';

interface Timings {
  first_byte_seconds: { p50: number; p90: number; p99: number };
  tokens_per_second?: { p50: number; p90: number };
}

interface Endpoint {
  endpoint: string;
  credential: number | null;
  state: string;
  cause?: string;
  cooldown_ms?: number;
  credential_cooldown_ms?: number;
  streamed?: Timings;
  whole?: Timings;
}

interface Replicas {
  data: { id: string; role: string; started_at: string; alive_until: string }[];
  jobs: Record<string, unknown>[];
}

const EVERY_MS = 5000;

export function HealthPage() {
  const endpoints = useQuery({
    queryKey: ['health', 'endpoints'],
    refetchInterval: EVERY_MS,
    queryFn: async () => (await bodyOf<{ data: Endpoint[] }>(api.GET('/admin/v1/health/endpoints'))).data,
  });
  const replicas = useQuery({
    queryKey: ['health', 'replicas'],
    refetchInterval: EVERY_MS,
    queryFn: () => bodyOf<Replicas>(api.GET('/admin/v1/health/replicas')),
  });
  return (
    <Page
      title="Health"
      about="Endpoints as the requests of the last minutes found them, the gateways that run, and their store."
    >
      <Card title="Endpoints" actions={<SaveRows file="endpoints" rows={endpoints.data ?? []} />}>
        <Loaded asked={endpoints}>{(all) => <EndpointTable endpoints={all} />}</Loaded>
      </Card>
      <Card title="Gateways" actions={<SaveRows file="gateways" rows={replicas.data?.data ?? []} />}>
        <Loaded asked={replicas}>{({ data }) => <ReplicaTable replicas={data} />}</Loaded>
      </Card>
      <StoreCard everyMs={EVERY_MS} />
    </Page>
  );
}

function toneOf({ state, cause, credential_cooldown_ms: resting }: Endpoint): [Tone, string] {
  if (state === 'open') return ['bad', 'resting'];
  if (resting) return ['warn', 'credential rests'];
  if (state !== 'closed') return ['warn', 'on trial'];
  return cause ? ['warn', 'failed lately'] : ['good', 'well'];
}

function EndpointTable({ endpoints }: { endpoints: Endpoint[] }) {
  if (endpoints.length === 0)
    return <Empty title="No endpoint was used lately">Its first request shows it here, with its times.</Empty>;
  const ms = (seconds: number | undefined) => (seconds === undefined ? '—' : formatCount(Math.round(seconds * 1000)));
  return (
    <Table
      label="Endpoints and their times"
      columns={[
        'Endpoint',
        'State',
        'Answers',
        ...['First byte p50, ms', 'p90', 'p99', 'Tokens per second, p50'].map(numbers),
      ]}
    >
      {endpoints.flatMap((endpoint) => {
        const [tone, word] = toneOf(endpoint);
        const kinds = (['streamed', 'whole'] as const).filter((kind) => endpoint[kind]);
        return (kinds.length > 0 ? kinds : [undefined]).map((kind, index) => {
          const timings = kind && endpoint[kind];
          const rest = endpoint.cooldown_ms ?? endpoint.credential_cooldown_ms;
          return (
            <tr key={`${endpoint.endpoint} ${endpoint.credential} ${kind}`}>
              <td className="font-medium">
                {index === 0 && endpoint.endpoint}
                {index === 0 && endpoint.credential !== null && (
                  <span className="text-dim"> credential {endpoint.credential}</span>
                )}
              </td>
              <td>
                {index === 0 && (
                  <span className="flex items-center gap-2">
                    <Status tone={tone}>{word}</Status>
                    {rest !== undefined && <span className="text-dim">for {Math.ceil(rest / 1000)} s</span>}
                    {endpoint.cause && <span className="text-dim">{endpoint.cause}</span>}
                  </span>
                )}
              </td>
              <td className="text-dim">{kind ?? '—'}</td>
              <td className="number">{ms(timings?.first_byte_seconds.p50)}</td>
              <td className="number">{ms(timings?.first_byte_seconds.p90)}</td>
              <td className="number">{ms(timings?.first_byte_seconds.p99)}</td>
              <td className="number">
                {timings?.tokens_per_second ? formatCount(Math.round(timings.tokens_per_second.p50)) : '—'}
              </td>
            </tr>
          );
        });
      })}
    </Table>
  );
}

function ReplicaTable({ replicas }: { replicas: Replicas['data'] }) {
  if (replicas.length === 0)
    return <Empty title="No gateway has reported yet">Each does so within a few seconds.</Empty>;
  return (
    <Table label="Gateways that run" columns={['Gateway', 'Role', numbers('Started')]}>
      {replicas.map(({ id, role, started_at: started }) => (
        <tr key={id}>
          <td className="font-mono">{id}</td>
          <td>{role}</td>
          <td className="number">
            <Time at={started} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
