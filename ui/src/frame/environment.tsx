/** The gateway that answers these pages: its version, how many gateways there are, and their store. */

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Server } from 'lucide-react';
import { ENGINES, type Replicas, replicaList } from '../pages/health/query.ts';

const EVERY_MS = 60_000;

export function Environment({ isNarrow }: { isNarrow: boolean }) {
  const { data: replicas } = useQuery({ ...replicaList, refetchInterval: EVERY_MS, staleTime: EVERY_MS });
  if (!replicas) return null;
  const { version, others, store } = wordsOf(replicas);
  return (
    <Link
      to="/health"
      title={[version, others, store].join(' · ')}
      className={`flex min-h-8 items-center gap-2.5 rounded-md px-2.5 text-dim hover:bg-hover hover:text-ink max-md:hidden ${isNarrow ? 'md:justify-center md:px-0' : ''}`}
    >
      <Server size={16} aria-hidden className="shrink-0" />
      <span className={`min-w-0 py-1 leading-tight ${isNarrow ? 'md:sr-only' : ''}`}>
        <span className="block truncate">{version}</span>
        <span className="block truncate text-xs">
          {others}, {store}
        </span>
      </span>
    </Link>
  );
}

function wordsOf({ data, engine }: Replicas): { version: string; others: string; store: string } {
  const versions = [...new Set(data.map(({ version }) => version ?? 'an older version'))].toSorted();
  const gateways = data.filter(({ role }) => role === 'gateway').length;
  const workers = data.length - gateways;
  const counts = [
    `${gateways} gateway${gateways === 1 ? '' : 's'}`,
    ...(workers > 0 ? [`${workers} worker${workers === 1 ? '' : 's'}`] : []),
  ];
  return { version: versions.join(' and '), others: counts.join(', '), store: ENGINES[engine] };
}
