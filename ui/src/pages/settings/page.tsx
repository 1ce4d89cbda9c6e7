/** Settings: the theme, sessions that can be ended, saved views, and the licences of what the pages are made of. */

import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { request } from '../../api.ts';
import { CopyAs } from '../../parts/copy-as.tsx';
import { Time } from '../../parts/numbers.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Segments } from '../../parts/segments.tsx';
import { Empty, ErrorNotice, Loaded } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { useSession } from '../../session.ts';
import { chooseTheme, useTheme } from '../../theme.ts';
import { pageOf, pathOfViews, useViews, VIEW_PAGES } from '../../views.ts';
import { AuditLog } from './audit.tsx';
import { SessionsCard } from './sessions.tsx';

const THEMES = ['system', 'light', 'dark'] as const;

export function SettingsPage() {
  const { isAdmin, isOperator } = useSession();
  const theme = useTheme();
  return (
    <Page
      title="Settings"
      about={
        isAdmin
          ? 'Sessions of all browsers, saved views, and the theme of this one.'
          : 'Your sessions, saved views, and the theme of this browser.'
      }
    >
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
      <div className="in-order flex flex-col gap-5">
        <SessionsCard />
        <Card title="Saved views" actions={<CopyAs path={pathOfViews(isOperator)} />}>
          <Views />
        </Card>
        {isOperator && <AuditLog />}
        <Card title="About">
          <About />
        </Card>
      </div>
    </Page>
  );
}

function Views() {
  const { isOperator } = useSession();
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
                      <div className="flex items-center justify-end gap-1">
                        {view.id !== undefined && (
                          <CopyAs
                            name={`the deletion of ${view.name}`}
                            path={pathOfViews(isOperator, view.id)}
                            method="DELETE"
                          />
                        )}
                        <button
                          type="button"
                          className="button"
                          aria-label={`Delete ${view.name}`}
                          disabled={removing.isPending}
                          onClick={() => removing.mutate(view)}
                        >
                          Delete
                        </button>
                      </div>
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
    queryFn: async ({ signal }) => (await request('/ui/LICENSES.txt', { signal })).text(),
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
