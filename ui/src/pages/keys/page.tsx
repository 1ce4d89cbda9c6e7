/** Keys: their state, budgets and last use; creation, rotation and revocation. */

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { ListPlus, Plus, X } from 'lucide-react';
import { type EffectiveLimits, type KeyView, oneKey, spentIn, statesOf, tagsOf, useKeyPages } from '../../keys.ts';
import { Budgets, budgetsOf, SpentFigure } from '../../parts/budgets.tsx';
import { pathWith } from '../../parts/copy-as.tsx';
import { limitWords } from '../../parts/limits.ts';
import { Time } from '../../parts/numbers.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Segments } from '../../parts/segments.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { FilterLine, numbers, Older, SearchField, ShownCount, Table } from '../../parts/table.tsx';
import { TableTools } from '../../parts/table-tools.tsx';
import { useListKeys } from '../../parts/use-list-keys.ts';
import type { Period } from '../../periods.ts';
import { useSession } from '../../session.ts';
import { CreateKeys } from './bulk.tsx';
import { CreateKey } from './create.tsx';
import { KeyDetails, KeyState } from './details.tsx';

const route = getRouteApi('/keys');
const STATES = ['active', 'all'] as const;
const COLUMNS = [
  ...['Name', 'State', 'Owner and tags', 'Models', 'Limits', 'Budget'],
  ...['This month', 'In all', 'Last used'].map(numbers),
];

export function KeysPage() {
  const { create, find, state = 'active', tag, open } = route.useSearch();
  const navigate = route.useNavigate();
  const { isAdmin } = useSession();
  const pages = useKeyPages({ search: find, tag, isWhole: state === 'all' });
  const asked = { search: find, tag, ...statesOf(state === 'all') };
  const keys = pages.data?.pages.flatMap(({ data }) => data) ?? [];
  const change = (next: Partial<ReturnType<typeof route.useSearch>>) =>
    navigate({ search: (search) => ({ ...search, ...next }), replace: true });
  const setCreating = (next: true | 'several' | undefined) =>
    navigate({ search: (search) => ({ ...search, create: next }) });
  return (
    <Page
      title="Keys"
      about="Each program or person has one, with limits and budgets of its own."
      actions={
        isAdmin && (
          <>
            <button type="button" className="button" onClick={() => setCreating('several')}>
              <ListPlus size={15} aria-hidden />
              Create several
            </button>
            <button type="button" className="button button-primary" onClick={() => setCreating(true)}>
              <Plus size={15} aria-hidden />
              Create a key
            </button>
          </>
        )
      }
    >
      <Card>
        <FilterLine>
          <SearchField
            placeholder="Name, owner, tag or hash"
            value={find ?? ''}
            onChange={(text) => change({ find: text })}
          />
          <Segments label="State" values={STATES} value={state} onChange={(next) => change({ state: next })} />
          {tag && (
            <button type="button" className="button !bg-accent-soft" onClick={() => change({ tag: undefined })}>
              {tag}
              <X size={13} aria-label="Remove this filter" />
            </button>
          )}
          <ShownCount shown={keys.length} all={pages.data?.pages[0]?.total} />
          <TableTools
            table="Keys"
            columns={COLUMNS}
            file="keys"
            rows={pathWith('/admin/v1/keys', { ...asked, format: 'csv' })}
            same={{
              path: pathWith('/admin/v1/keys', asked),
              command: 'polygate keys list',
              note: find || tag ? 'The command lists all keys; it has no filters.' : undefined,
            }}
          />
        </FilterLine>
        <Loaded asked={pages}>
          {() =>
            keys.length === 0 ? (
              <Empty title={find || tag ? 'No key is like that' : 'No keys yet'}>
                <code>polygate keys create --name laptop</code>
              </Empty>
            ) : (
              <KeyTable
                keys={keys}
                open={open}
                onOpen={(hash) => change({ open: hash })}
                onTag={(one) => change({ tag: one })}
              />
            )
          }
        </Loaded>
        <Older pages={pages} label="More" isAutomatic />
      </Card>
      {open !== undefined && (
        <OpenedKey
          key={open}
          hash={open}
          listed={keys.find(({ hash }) => hash === open)}
          onClose={() => change({ open: undefined })}
        />
      )}
      <CreateKey
        defaultTags={pages.data?.pages[0]?.default_tags ?? {}}
        isOpen={isAdmin && create === true}
        onClose={() => setCreating(undefined)}
      />
      <CreateKeys isOpen={isAdmin && create === 'several'} onClose={() => setCreating(undefined)} />
    </Page>
  );
}

/** It need not be among those of the list. */
function OpenedKey({ hash, listed, onClose }: { hash: string; listed: KeyView | undefined; onClose(): void }) {
  const asked = useQuery({ ...oneKey(hash), placeholderData: listed });
  return (
    <Panel title={asked.data?.name ?? ''} isOpen onClose={onClose}>
      <Loaded asked={asked}>{(view) => <KeyDetails view={view} />}</Loaded>
    </Panel>
  );
}

interface KeyTableProps {
  keys: readonly KeyView[];
  open: string | undefined;
  onOpen(hash: string): void;
  onTag(tag: string): void;
}

function KeyTable({ keys, open, onOpen, onTag }: KeyTableProps) {
  const rowProps = useListKeys(
    keys.map(({ hash }) => hash),
    { open, onOpen },
  );
  return (
    <Table label="Keys" columns={COLUMNS}>
      {keys.map((key) => (
        <tr key={key.hash} data-opens data-open={key.hash === open ? '' : undefined}>
          <td className="name">
            <button type="button" className="text-left" {...rowProps(key.hash)}>
              <span className="font-medium">{key.name}</span>
              <span className="block font-mono text-xs text-dim">{key.label}</span>
            </button>
          </td>
          <td>
            <KeyState state={key.state} />
          </td>
          <td className="max-w-44">
            {key.owner ? (
              <span className="block truncate" title={key.owner}>
                {key.owner}
              </span>
            ) : (
              tagsOf(key).length === 0 && '—'
            )}
            <span className="flex flex-wrap gap-1">
              {tagsOf(key).map((one) => (
                <button
                  key={one}
                  type="button"
                  className="min-h-[24px] max-w-full truncate rounded border px-1.5 font-mono text-xs text-dim hover:text-ink"
                  title={one}
                  onClick={() => onTag(one)}
                >
                  {one}
                </button>
              ))}
            </span>
          </td>
          <td className={`text-dim ${key.models ? 'name' : ''}`}>
            <span className="line-clamp-3">{key.models?.join(', ') ?? 'all'}</span>
          </td>
          <td className="text-dim">
            <LimitsOf limits={key.effective.limits} />
          </td>
          <td className="min-w-44">
            <Budgets uses={budgetsOf(key.effective)} spent={key.spent} filters={{ key: key.hash }} isSmall />
          </td>
          <td className="number">
            <SpentOf period="month" of={key} />
          </td>
          <td className="number text-dim">
            <SpentOf period="total" of={key} />
          </td>
          <td className="number text-dim">
            <LastUse of={key} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function SpentOf({ period, of }: { period: Period; of: KeyView }) {
  return <SpentFigure period={period} sums={spentIn(period, of)} filters={{ key: of.hash }} />;
}

function LimitsOf({ limits }: { limits: EffectiveLimits }) {
  const words = limitWords(limits);
  return words ? <span className="block min-w-40 whitespace-normal">{words}</span> : 'none';
}

/** That of a key of the configuration is not noted. */
function LastUse({ of: { last_used_at: at, origin } }: { of: KeyView }) {
  if (at) return <Time at={at} />;
  return origin === 'store' ? 'never' : '—';
}
