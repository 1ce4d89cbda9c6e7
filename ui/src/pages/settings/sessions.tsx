/** Sessions of browsers that are open, each of which can be ended: all for an admin, else the own ones. */

import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { api, bodyOf, request } from '../../api.ts';
import { CopyAs } from '../../parts/copy-as.tsx';
import { Time } from '../../parts/numbers.tsx';
import { Card } from '../../parts/page.tsx';
import { ErrorNotice, Loaded } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { Older, ShownCount, Table } from '../../parts/table.tsx';
import { SaveRows } from '../../parts/table-tools.tsx';
import { useSession } from '../../session.ts';

interface SessionRow {
  id: string;
  role: 'admin' | 'viewer' | 'key';
  key_hash: string | null;
  key_name: string | null;
  opened_with: 'code' | 'token' | 'key';
  opened_at: string;
  seen_at: string;
  current: boolean;
}

interface SessionPage {
  data: SessionRow[];
  /** Number of sessions on all pages. */
  total: number;
  next: string | null;
}

const PAGE_SIZE = 50;
const OPENED_WITH = { code: 'a one-time link', token: 'the admin token', key: 'a key' };

/** Path of the calls for open sessions, or for one of them. */
function pathOfSessions(isOperator: boolean, id?: string): string {
  return `${isOperator ? '/admin/v1' : '/v1/self'}/sessions${id === undefined ? '' : `/${id}`}`;
}

export function SessionsCard() {
  const { isOperator } = useSession();
  const pages = useInfiniteQuery({
    queryKey: ['sessions'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: after, signal }) => {
      const params = { query: { limit: PAGE_SIZE, after } };
      return bodyOf<SessionPage>(
        isOperator
          ? api.GET('/admin/v1/sessions', { params, signal })
          : api.GET('/v1/self/sessions', { params, signal }),
      );
    },
    getNextPageParam: ({ next }) => next ?? undefined,
  });
  const rows = pages.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <Card
      title="Sessions"
      actions={
        <div className="flex flex-wrap items-center gap-2">
          <ShownCount shown={rows.length} all={pages.data?.pages[0]?.total} />
          <CopyAs path={pathOfSessions(isOperator)} />
          <SaveRows file="browser-sessions" rows={rows} />
        </div>
      }
    >
      <Loaded asked={{ ...pages, data: pages.data && rows }}>{(shown) => <Sessions rows={shown} />}</Loaded>
      <Older pages={pages} />
    </Card>
  );
}

function Sessions({ rows }: { rows: SessionRow[] }) {
  const queries = useQueryClient();
  const { signOut, isOperator, session } = useSession();
  const mayEndOthers = session?.role !== 'viewer';
  const end = useMutation({
    mutationFn: async ({ id, current }: SessionRow) => {
      if (current) return signOut();
      await request(pathOfSessions(isOperator, id), { method: 'DELETE' });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['sessions'] }),
  });
  return (
    <>
      <Table
        label="Open sessions"
        columns={['Role', 'Key', 'Opened', 'With', 'Last seen', { name: 'End', isHidden: true }]}
      >
        {rows.map((row) => (
          <tr key={row.id}>
            <td>
              <span className="flex items-center gap-2 font-medium">
                {row.role}
                {row.current && <Status tone="good">this one</Status>}
              </span>
            </td>
            <td className="max-w-56 truncate text-dim">{row.key_name ?? row.key_hash ?? '—'}</td>
            <td>
              <Time at={row.opened_at} />
            </td>
            <td className="text-dim">{OPENED_WITH[row.opened_with]}</td>
            <td>
              <Time at={row.seen_at} />
            </td>
            <td className="number">
              <div className="flex items-center justify-end gap-1">
                {mayEndOthers && (
                  <CopyAs name="the end of this session" path={pathOfSessions(isOperator, row.id)} method="DELETE" />
                )}
                <button type="button" className="button" disabled={end.isPending} onClick={() => end.mutate(row)}>
                  {row.current ? 'End this one' : 'End'}
                </button>
              </div>
            </td>
          </tr>
        ))}
      </Table>
      {end.error && (
        <div className="p-3">
          <ErrorNotice error={end.error} />
        </div>
      )}
    </>
  );
}
