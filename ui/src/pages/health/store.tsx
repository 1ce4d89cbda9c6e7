/** Health of the store: whether it can be written, what waits, its size, its disk, and what is kept how long. */

import { useQuery } from '@tanstack/react-query';
import { api, bodyOf } from '../../api.ts';
import { CopyAs } from '../../parts/copy-as.tsx';
import { Facts } from '../../parts/facts.tsx';
import { formatBytes, formatCount, Time } from '../../parts/numbers.tsx';
import { Card } from '../../parts/page.tsx';
import { Loaded } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { ENGINES } from './query.ts';

interface StoreHealth {
  engine: 'sqlite' | 'postgres';
  writable: boolean;
  problem: string | null;
  records: { writable: boolean; waiting: number; lost: number; refused: number };
  jobs: { kind: string; due: number; leased: number; oldest_due_at: string | null }[] | null;
  bytes: number | null;
  backup_at: string | null;
  disk: { free_bytes: number; total_bytes: number } | null;
  retention: Record<'usage' | 'usage_size' | 'media' | 'tasks' | 'responses', string>;
}

/** Share of the disk below which it is a warning. */
const LITTLE = 0.1;

export function StoreCard({ everyMs }: { everyMs: number }) {
  const asked = useQuery({
    queryKey: ['health', 'store'],
    refetchInterval: everyMs,
    queryFn: async ({ signal }) =>
      (await bodyOf<{ data: StoreHealth }>(api.GET('/admin/v1/health/store', { signal }))).data,
  });
  return (
    <Card title="Store" actions={<CopyAs path="/admin/v1/health/store" />}>
      <Loaded asked={asked}>{(health) => <Store health={health} />}</Loaded>
    </Card>
  );
}

function Store({ health }: { health: StoreHealth }) {
  const { engine, writable, problem, records, jobs, bytes, backup_at: backup, disk, retention } = health;
  const isFull = disk !== null && disk.free_bytes < LITTLE * disk.total_bytes;
  return (
    <div className="grid gap-x-10 gap-y-5 p-4 md:grid-cols-2">
      <Facts
        rows={[
          ['Engine', ENGINES[engine]],
          [
            'Writes',
            <Status key="w" tone={writable ? 'good' : 'bad'}>
              {writable ? 'working' : 'failing'}
            </Status>,
          ],
          ...(problem === null ? [] : [['Problem', problem] as const]),
          ['Size', bytes === null ? '—' : formatBytes(bytes)],
          [
            'Disk of the data folder',
            disk === null ? (
              '—'
            ) : (
              <span key="disk" className={isFull ? 'text-warn' : ''}>
                {formatBytes(disk.free_bytes)} of {formatBytes(disk.total_bytes)} free
              </span>
            ),
          ],
          ['Last backup', backup ? <Time key="backup" at={backup} /> : 'none is known'],
          [
            'Usage records',
            records.writable ? (
              `${formatCount(records.waiting)} waiting, ${formatCount(records.lost)} lost`
            ) : (
              <Status key="records" tone="bad">
                cannot be written
              </Status>
            ),
          ],
        ]}
      />
      <Facts
        rows={[
          ...(jobs ?? []).map(
            ({ kind, due, leased, oldest_due_at: oldest }) =>
              [
                `Jobs, ${kind}`,
                <span key={kind}>
                  {formatCount(due)} due, {formatCount(leased)} running
                  {oldest && (
                    <>
                      , the oldest since <Time at={oldest} withDate={false} />
                    </>
                  )}
                </span>,
              ] as const,
          ),
          ...(jobs?.length === 0 ? [['Jobs', 'none is due'] as const] : []),
          ['Usage records are kept', `${retention.usage}, ${retention.usage_size} at most`],
          ['Videos', retention.media],
          ['Tasks and webhooks', retention.tasks],
          ['Stored responses', retention.responses],
        ]}
      />
    </div>
  );
}
