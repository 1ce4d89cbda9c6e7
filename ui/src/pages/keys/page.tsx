/** Keys: their state, budgets and last use; creation, rotation and revocation. */

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { ListPlus, Plus, Search, X } from 'lucide-react';
import { type KeyView, keyList, tagsOf } from '../../keys.ts';
import { Budgets, budgetsOfKey } from '../../parts/budgets.tsx';
import { limitWords } from '../../parts/limits.ts';
import { Money, Time } from '../../parts/numbers.tsx';
import { Card, Page, TableScroll } from '../../parts/page.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Segments } from '../../parts/segments.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { Status, type Tone } from '../../parts/status.tsx';
import { useListKeys } from '../../parts/use-list-keys.ts';
import { useSession } from '../../session.ts';
import { CreateKeys } from './bulk.tsx';
import { CreateKey } from './create.tsx';
import { KeyDetails } from './details.tsx';

const route = getRouteApi('/keys');
const STATES = ['active', 'all'] as const;

export function KeysPage() {
  const { create } = route.useSearch();
  const navigate = route.useNavigate();
  const { isAdmin } = useSession();
  const keys = useQuery(keyList);
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
        <Loaded asked={keys}>{(all) => <KeyTable all={all} />}</Loaded>
      </Card>
      <CreateKey isOpen={isAdmin && create === true} onClose={() => setCreating(undefined)} />
      <CreateKeys isOpen={isAdmin && create === 'several'} onClose={() => setCreating(undefined)} />
    </Page>
  );
}

function KeyTable({ all }: { all: KeyView[] }) {
  const { find = '', state = 'active', tag, open } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: Partial<ReturnType<typeof route.useSearch>>) =>
    navigate({ search: (search) => ({ ...search, ...next }), replace: true });
  const wanted = find.toLowerCase();
  const shown = all.filter(
    (key) =>
      (state === 'all' || key.state === 'active') &&
      (tag === undefined || tagsOf(key).includes(tag)) &&
      [key.name, key.hash, key.label, key.owner ?? '', ...tagsOf(key)].some((text) =>
        text.toLowerCase().includes(wanted),
      ),
  );
  const rowProps = useListKeys(
    shown.map(({ hash }) => hash),
    { open, onOpen: (hash) => change({ open: hash }) },
  );
  const opened = all.find(({ hash }) => hash === open);
  return (
    <>
      <div className="flex flex-wrap items-center gap-2 border-b p-3">
        <label className="relative min-w-48 flex-1">
          <span className="sr-only">Search</span>
          <Search size={15} aria-hidden className="absolute top-2.5 left-2.5 text-dim" />
          <input
            className="input pl-8"
            type="search"
            data-search
            placeholder="Name, owner, tag or hash"
            defaultValue={find}
            onChange={(event) => change({ find: event.target.value || undefined })}
          />
        </label>
        <Segments label="State" values={STATES} value={state} onChange={(next) => change({ state: next })} />
        {tag && (
          <button type="button" className="button !bg-accent-soft" onClick={() => change({ tag: undefined })}>
            {tag}
            <X size={13} aria-label="Remove this filter" />
          </button>
        )}
        <span className="px-1 text-dim" role="status">
          {shown.length} of {all.length}
        </span>
      </div>
      {shown.length === 0 ? (
        <Empty title={all.length === 0 ? 'No keys yet' : 'No key is like that'}>
          <code>polygate keys create --name laptop</code>
        </Empty>
      ) : (
        <TableScroll label="Keys">
          <table className="data">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">State</th>
                <th scope="col">Owner and tags</th>
                <th scope="col">Models</th>
                <th scope="col">Limits</th>
                <th scope="col">Budget</th>
                <th scope="col" className="number">
                  This month
                </th>
                <th scope="col" className="number">
                  In all
                </th>
                <th scope="col" className="number">
                  Last used
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((key) => (
                <tr key={key.hash} data-opens data-open={key.hash === open ? '' : undefined}>
                  <td>
                    <button type="button" className="text-left" {...rowProps(key.hash)}>
                      <span className="font-medium">{key.name}</span>
                      <span className="block font-mono text-xs text-dim">{key.label}</span>
                    </button>
                  </td>
                  <td>
                    <KeyState state={key.state} />
                  </td>
                  <td className="max-w-56">
                    {key.owner}
                    <span className="flex flex-wrap gap-1">
                      {tagsOf(key).map((one) => (
                        <button
                          key={one}
                          type="button"
                          className="min-h-[24px] rounded border px-1.5 font-mono text-xs text-dim hover:text-ink"
                          onClick={() => change({ tag: one })}
                        >
                          {one}
                        </button>
                      ))}
                    </span>
                  </td>
                  <td className="max-w-56 truncate text-dim">{key.models?.join(', ') ?? 'all'}</td>
                  <td className="max-w-44 text-dim">{limitWords(key.limits) || 'none'}</td>
                  <td className="min-w-44">
                    <Budgets uses={budgetsOfKey(key)} short />
                  </td>
                  <td className="number">
                    <Money usd={key.usage_monthly} />
                  </td>
                  <td className="number text-dim">
                    <Money usd={key.usage} />
                  </td>
                  <td className="number text-dim">
                    <LastUse of={key} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
      <Panel title={opened?.name ?? ''} isOpen={opened !== undefined} onClose={() => change({ open: undefined })}>
        {opened && <KeyDetails view={opened} />}
      </Panel>
    </>
  );
}

const TONES: Record<KeyView['state'], Tone> = { active: 'good', disabled: 'quiet', expired: 'warn', revoked: 'bad' };

export function KeyState({ state }: { state: KeyView['state'] }) {
  return <Status tone={TONES[state]}>{state}</Status>;
}

/** That of a key of the configuration is not noted. */
function LastUse({ of: { last_used_at: at, origin } }: { of: KeyView }) {
  if (at) return <Time at={at} />;
  return origin === 'store' ? 'never' : '—';
}
