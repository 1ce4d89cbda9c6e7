/** Audit log: what was changed by whom, searched by its words. */

import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { api, bodyOf } from '../../api.ts';
import { CopyAs, pathWith } from '../../parts/copy-as.tsx';
import { PagesCount } from '../../parts/list-filters.tsx';
import { Time } from '../../parts/numbers.tsx';
import { Card } from '../../parts/page.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { type CountedPage, FilterLine, Older, SearchField, Table } from '../../parts/table.tsx';
import { SaveRows } from '../../parts/table-tools.tsx';
import { type AuditEntry, AuditEntryDetails } from './audit-entry.tsx';

interface AuditPage extends CountedPage {
  data: AuditEntry[];
  next: string | null;
}

const route = getRouteApi('/settings');
const PAGE_SIZE = 20;

export function AuditLog() {
  const { find: search, entry: open } = route.useSearch();
  const navigate = route.useNavigate();
  const pages = useInfiniteQuery({
    queryKey: ['audit', 'all', search],
    initialPageParam: undefined as string | undefined,
    placeholderData: keepPreviousData,
    queryFn: ({ pageParam: after, signal }): Promise<AuditPage> =>
      bodyOf(api.GET('/admin/v1/audit', { params: { query: { limit: PAGE_SIZE, after, search } }, signal })),
    getNextPageParam: ({ next }) => next ?? undefined,
  });
  const show = (entry: number | undefined) =>
    void navigate({ search: (now) => ({ ...now, entry }), replace: true, resetScroll: false });
  const entries = pages.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <Card title="Audit log">
      <FilterLine>
        <SearchField
          placeholder="Action, actor, or what was changed: a key’s hash, a tag …"
          value={search ?? ''}
          onChange={(find) => navigate({ search: { find }, replace: true, resetScroll: false })}
        />
        <PagesCount shown={entries.length} pages={pages.data?.pages} />
        <CopyAs
          path={pathWith('/admin/v1/audit', { search })}
          command="polygate audit"
          note={search === undefined ? undefined : 'The command has no search.'}
        />
        <SaveRows file="audit" rows={pathWith('/admin/v1/audit', { search, format: 'csv' })} />
      </FilterLine>
      <Loaded asked={{ ...pages, data: pages.data && entries }}>
        {(shown) =>
          shown.length === 0 && !pages.hasNextPage ? (
            <Empty title={search === undefined ? 'Nothing was changed yet' : 'No change is like that'} />
          ) : (
            <Table label="Changes" columns={['Time', 'Action', 'Of', 'By']}>
              {shown.map(({ id, at, action, subject, actor }) => (
                <tr key={id} data-opens data-open={id === open ? '' : undefined}>
                  <td className="text-dim">
                    <Time at={at} />
                  </td>
                  <td>
                    <button type="button" className="min-h-[24px] text-left font-medium" onClick={() => show(id)}>
                      {action}
                    </button>
                  </td>
                  <td className="max-w-72 truncate font-mono text-[0.9em] text-dim" title={subject}>
                    {subject}
                  </td>
                  <td className="text-dim">{actor}</td>
                </tr>
              ))}
            </Table>
          )
        }
      </Loaded>
      <Older pages={pages} />
      <Panel title={`Change ${open}`} isOpen={open !== undefined} onClose={() => show(undefined)}>
        {open !== undefined && <AuditEntryDetails id={open} />}
      </Panel>
    </Card>
  );
}
