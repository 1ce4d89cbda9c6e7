/** Every setting in use with its origin, and those that are not set; one of them opens with what the schema says of it. */

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, Suspense, useMemo, useState } from 'react';
import { commandWith } from '../../parts/copy-as.tsx';
import { formatCount } from '../../parts/numbers.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Segments } from '../../parts/segments.tsx';
import { Empty } from '../../parts/states.tsx';
import { Breakable, FilterLine, SearchField, ShownCount, Table } from '../../parts/table.tsx';
import { TableTools } from '../../parts/table-tools.tsx';
import { useListKeys } from '../../parts/use-list-keys.ts';
import type { Config, Setting } from './query.ts';
import { originOf, textOf } from './texts.ts';

const Field = lazy(() => import('./field.tsx').then((module) => ({ default: module.Field })));

const route = getRouteApi('/config');
const COLUMNS = ['Setting', 'Value', 'From'];
const VIEWS = ['in use', 'all'] as const;
/** Settings that are added to the list at a time. */
const PAGE = 500;

export function Settings({ config: { settings, complete, origin } }: { config: Config }) {
  const { find = '', open, all } = route.useSearch();
  const navigate = route.useNavigate();
  const [most, setMost] = useState(PAGE);
  const change = (next: { find?: string | undefined; open?: string | undefined; all?: true | undefined }) =>
    navigate({ search: (search) => ({ ...search, ...next }), replace: true });
  const { data: unset } = useQuery({
    queryKey: ['config', 'unset', settings],
    enabled: all === true || find !== '',
    queryFn: async () => (await import('./unset.ts')).unsetSettings(settings),
  });
  const listed = useMemo(() => (all && unset ? inSections([...settings, ...unset]) : settings), [all, settings, unset]);
  const found = useMemo(() => listed.filter(finder(find)), [listed, find]);
  const unsetFound = all || find === '' ? 0 : (unset ?? []).filter(finder(find)).length;
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
        <Segments
          label="Settings"
          values={VIEWS}
          value={all ? 'all' : 'in use'}
          onChange={(view) => change({ all: view === 'all' || undefined })}
        />
        <ShownCount shown={found.length} all={listed.length} />
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
        <Empty title={unsetFound > 0 ? 'No setting in use is like that' : 'No setting is like that'} />
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
          {shown.map(({ path, value, source, about }) => (
            <tr key={path} data-opens data-open={path === open ? '' : undefined}>
              <td className="font-mono text-[0.9em] max-sm:min-w-48 max-sm:!whitespace-normal max-sm:wrap-anywhere">
                <button type="button" className="text-left hover:text-accent max-sm:wrap-anywhere" {...rowProps(path)}>
                  <Breakable parts={path.split(/(?<=[._])/)} />
                </button>
              </td>
              <td className="min-w-36 max-w-[32rem] !whitespace-normal font-mono wrap-anywhere max-sm:min-w-24 text-[0.9em]">
                {about === undefined ? textOf(value) : <span className="font-sans text-dim">{about}</span>}
              </td>
              <td className={source.from === 'default' || source.from === 'not set' ? 'text-dim' : ''}>
                {originOf(source)}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {unsetFound > 0 && (
        <p className="flex flex-wrap items-center justify-center gap-3 border-t p-3 text-dim">
          {formatCount(unsetFound)} like that {unsetFound === 1 ? 'is' : 'are'} not set.
          <button type="button" className="button" onClick={() => change({ all: true })}>
            Show {unsetFound === 1 ? 'it' : 'them'}
          </button>
        </p>
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

function finder(find: string): (setting: Setting) => boolean {
  const words = find.toLowerCase().split(/\s+/).filter(Boolean);
  return ({ path, value, source, about = '' }) => {
    const text = `${path} ${textOf(value)} ${originOf(source)} ${about}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
}

/** Each with the others of its section. */
function inSections(settings: readonly Setting[]): Setting[] {
  const sectionOf = ({ path }: Setting) => path.split(/[.[]/, 1)[0] ?? '';
  return [...Map.groupBy(settings, sectionOf).values()].flat();
}
