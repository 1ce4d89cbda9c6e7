/** Changes of a key or a tag, from the audit log. */

import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, bodyOf } from '../api.ts';
import { Time } from './numbers.tsx';
import { Loaded } from './states.tsx';
import { Older } from './table.tsx';

interface AuditEntry {
  id: number;
  at: string;
  actor: string;
  action: string;
  request_id: string | null;
}

const PAGE_SIZE = 20;

/** `subject`: hash of a key, or a tag. */
export function History({ subject, since }: { subject: string; since: string }) {
  const pages = useInfiniteQuery({
    queryKey: ['audit', subject],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: after, signal }) => {
      const params = { query: { subject, limit: PAGE_SIZE, ...(after !== undefined && { after }) } };
      return bodyOf<{ data: AuditEntry[]; next: string | null }>(api.GET('/admin/v1/audit', { params, signal }));
    },
    getNextPageParam: ({ next }) => next ?? undefined,
  });
  const asked = { ...pages, data: pages.data?.pages.flatMap(({ data }) => data) };
  return (
    <section>
      <h2 className="mb-2">Audit log</h2>
      <Loaded asked={asked}>
        {(entries) => (
          <ul className="flex flex-col gap-1.5">
            {entries.length === 0 && <li className="text-dim">Nothing {since}.</li>}
            {entries.map(({ id, at, actor, action }) => (
              <li key={id} className="flex gap-3">
                <span className="text-dim">
                  <Time at={at} />
                </span>
                <Link to="/settings" search={{ entry: id }} className="text-accent underline-offset-4 hover:underline">
                  {action}
                </Link>
                <span className="ml-auto text-dim">{actor}</span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      <Older pages={pages} />
    </section>
  );
}
