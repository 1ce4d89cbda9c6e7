/** Settings: sessions that can be ended, saved views, the theme, and the licences of what the pages are made of. */

import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, bodyOf, request } from '../../api.ts';
import { Time } from '../../parts/numbers.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Segments } from '../../parts/segments.tsx';
import { Empty, ErrorNotice, Loaded } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { Older, ShownCount, Table } from '../../parts/table.tsx';
import { SaveRows } from '../../parts/table-tools.tsx';
import { useSession } from '../../session.ts';
import { chooseTheme, useTheme } from '../../theme.ts';
import { pageOf, useViews, VIEW_PAGES } from '../../views.ts';
import { AuditLog } from './audit.tsx';

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
const THEMES = ['system', 'light', 'dark'] as const;
const OPENED_WITH = { code: 'a one-time link', token: 'the admin token', key: 'a key' };

export function SettingsPage() {
  const { isAdmin, isOperator } = useSession();
  const theme = useTheme();
  const pages = useInfiniteQuery({
    queryKey: ['sessions'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: after }) =>
      bodyOf<SessionPage>(api.GET('/ui/sessions', { params: { query: { limit: PAGE_SIZE, after } } })),
    getNextPageParam: ({ next }) => next ?? undefined,
  });
  const rows = pages.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <Page
      title="Settings"
      about={
        isAdmin
          ? 'Sessions of all browsers, saved views, and the theme of this one.'
          : 'Your sessions, saved views, and the theme of this browser.'
      }
    >
      <Card
        title="Sessions"
        actions={
          <div className="flex items-center gap-2">
            <ShownCount shown={rows.length} all={pages.data?.pages[0]?.total ?? rows.length} />
            <SaveRows file="browser-sessions" rows={rows} />
          </div>
        }
      >
        <Loaded asked={{ ...pages, data: pages.data && rows }}>{(shown) => <Sessions rows={shown} />}</Loaded>
        <Older pages={pages} />
      </Card>
      <Card title="Saved views">
        <Views />
      </Card>
      {isOperator && <AuditLog />}
      <Card title="Theme">
        <div className="p-4">
          <Segments
            label="Theme"
            values={THEMES}
            value={theme}
            names={{ system: 'System', light: 'Light', dark: 'Dark' }}
            onChange={chooseTheme}
          />
        </div>
      </Card>
      <Card title="About">
        <About />
      </Card>
    </Page>
  );
}

function Sessions({ rows }: { rows: SessionRow[] }) {
  const queries = useQueryClient();
  const { signOut } = useSession();
  const end = useMutation({
    mutationFn: async ({ id, current }: SessionRow) => {
      if (current) return signOut();
      await api.DELETE('/ui/sessions/{id}', { params: { path: { id } } });
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
              <button type="button" className="button" disabled={end.isPending} onClick={() => end.mutate(row)}>
                {row.current ? 'End this one' : 'End'}
              </button>
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

function Views() {
  const { asked, views, isViewer, remove } = useViews();
  const navigate = useNavigate();
  const removing = useMutation({ mutationFn: remove });
  return (
    <Loaded asked={asked}>
      {() =>
        views.length === 0 ? (
          <Empty title="No view is saved yet">
            The button “Views” on Requests and on Use and cost saves what they show, under a name.
          </Empty>
        ) : (
          <>
            <Table label="All saved views" columns={['Name', 'Page', 'Saved', { name: 'Delete', isHidden: true }]}>
              {views.map((view) => (
                <tr key={view.id ?? view.address}>
                  <td>
                    <button
                      type="button"
                      className="block max-w-72 truncate text-left font-medium hover:text-accent hover:underline"
                      onClick={() => void navigate({ href: view.address })}
                    >
                      {view.name}
                    </button>
                  </td>
                  <td className="text-dim">{VIEW_PAGES[pageOf(view.address)]?.name ?? pageOf(view.address)}</td>
                  <td className="text-dim">{view.updated_at ? <Time at={view.updated_at} /> : 'in this browser'}</td>
                  <td className="number">
                    {(view.id === undefined || !isViewer) && (
                      <button
                        type="button"
                        className="button"
                        aria-label={`Delete ${view.name}`}
                        disabled={removing.isPending}
                        onClick={() => removing.mutate(view)}
                      >
                        Delete
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </Table>
            {removing.error && (
              <div className="p-3">
                <ErrorNotice error={removing.error} />
              </div>
            )}
          </>
        )
      }
    </Loaded>
  );
}

function About() {
  const [isOpen, setOpen] = useState(false);
  const licences = useQuery({
    queryKey: ['licences'],
    enabled: isOpen,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => (await request('/ui/LICENSES.txt')).text(),
  });
  return (
    <div className="flex flex-col gap-3 p-4">
      <p>
        Polygate, under the Apache License 2.0. Its API is described at{' '}
        <a className="text-accent underline underline-offset-4" href="/openapi.json">
          /openapi.json
        </a>
        .
      </p>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Licences of the libraries in these pages</summary>
        <div className="mt-3">
          <Loaded asked={licences}>
            {(text) => (
              // biome-ignore lint/a11y/noNoninteractiveTabindex: A region that scrolls must be reached by keyboard.
              <pre className="max-h-96 overflow-auto rounded-lg border p-4 text-xs whitespace-pre-wrap" tabIndex={0}>
                {text}
              </pre>
            )}
          </Loaded>
        </div>
      </details>
    </div>
  );
}
