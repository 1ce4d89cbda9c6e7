/** Every setting in use with its origin; one of them opens with what the schema says of it. */

import { getRouteApi } from '@tanstack/react-router';
import { lazy, Suspense, useMemo, useState } from 'react';
import { commandWith } from '../../parts/copy-as.tsx';
import { formatCount } from '../../parts/numbers.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Empty } from '../../parts/states.tsx';
import { FilterLine, SearchField, ShownCount, Table } from '../../parts/table.tsx';
import { TableTools } from '../../parts/table-tools.tsx';
import { useListKeys } from '../../parts/use-list-keys.ts';
import type { Config } from './query.ts';
import { originOf, textOf } from './texts.ts';

const Field = lazy(() => import('./field.tsx').then((module) => ({ default: module.Field })));

const route = getRouteApi('/config');
const COLUMNS = ['Setting', 'Value', 'From'];
/** Settings that are added to the list at a time. */
const PAGE = 500;

export function Settings({ config: { settings, complete, origin } }: { config: Config }) {
  const { find = '', open } = route.useSearch();
  const navigate = route.useNavigate();
  const [most, setMost] = useState(PAGE);
  const change = (next: { find?: string | undefined; open?: string | undefined }) =>
    navigate({ search: (search) => ({ ...search, ...next }), replace: true });
  const found = useMemo(() => {
    const words = find.toLowerCase().split(/\s+/).filter(Boolean);
    return settings.filter((setting) => {
      const text = `${setting.path} ${textOf(setting.value)} ${originOf(setting.source)}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }, [settings, find]);
  const shown = useMemo(() => found.slice(0, most), [found, most]);
  const paths = useMemo(() => shown.map(({ path }) => path), [shown]);
  const onOpen = (path: string) => change({ open: path });
  const rowProps = useListKeys(paths, { open, onOpen });
  return (
    <>
      <FilterLine>
        <SearchField
          placeholder="Name, value, or where it comes from: file, environment, default …"
          value={find}
          onChange={(next) => change({ find: next })}
        />
        <ShownCount shown={found.length} all={settings.length} />
        <TableTools
          table="Settings"
          columns={COLUMNS}
          file="settings"
          rows={found}
          same={{
            path: '/admin/v1/config',
            command: commandWith('polygate check', { '--config': origin ?? undefined }),
            note: 'The command reads the file again, in the environment of its terminal.',
          }}
        />
      </FilterLine>
      {shown.length === 0 ? (
        <Empty title="No setting is like that" />
      ) : (
        <Table
          label="Settings"
          columns={COLUMNS}
          below={
            <>
              {found.length > shown.length && (
                <p className="flex flex-wrap items-center justify-center gap-3 border-t p-3 text-dim">
                  {formatCount(shown.length)} of {formatCount(found.length)} are shown.
                  <button type="button" className="button" onClick={() => setMost(most + PAGE)}>
                    Show more
                  </button>
                </p>
              )}
              {!complete && (
                <p className="border-t p-3 text-center text-warn">
                  There are more settings than the gateway lists: {formatCount(settings.length)}.
                </p>
              )}
            </>
          }
        >
          {shown.map(({ path, value, source }) => (
            <tr key={path} data-opens data-open={path === open ? '' : undefined}>
              <td className="font-mono text-[0.9em] max-sm:!whitespace-normal max-sm:wrap-anywhere">
                <button type="button" className="text-left hover:text-accent max-sm:wrap-anywhere" {...rowProps(path)}>
                  {path}
                </button>
              </td>
              <td className="min-w-36 max-w-[32rem] !whitespace-normal break-all font-mono text-[0.9em]">
                {textOf(value)}
              </td>
              <td className={source.from === 'default' ? 'text-dim' : ''}>{originOf(source)}</td>
            </tr>
          ))}
        </Table>
      )}
      <Panel title="Setting" isOpen={open !== undefined} onClose={() => change({ open: undefined })}>
        {open !== undefined && (
          <Suspense>
            <Field path={open} setting={settings.find(({ path }) => path === open)} origin={origin} />
          </Suspense>
        )}
      </Panel>
    </>
  );
}
