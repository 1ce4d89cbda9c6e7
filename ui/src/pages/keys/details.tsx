/** One key in all details, and what was done to it. */

import { Link } from '@tanstack/react-router';
import { type KeyView, tagsOf } from '../../keys.ts';
import { Budgets, budgetsOfKey, SpentByPeriod, spentByKey } from '../../parts/budgets.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { History } from '../../parts/history.tsx';
import { limitRows, limitWords } from '../../parts/limits.ts';
import { Time } from '../../parts/numbers.tsx';
import { useSession } from '../../session.ts';
import { KeyActions } from './actions.tsx';
import { KeyState } from './page.tsx';

export function KeyDetails({ view }: { view: KeyView }) {
  const { isAdmin } = useSession();
  const rows: [string, React.ReactNode][] = [
    ['State', <KeyState key="state" state={view.state} />],
    ['Origin', view.origin],
    ['Owner', view.owner ?? '—'],
    ['Tags', tagsOf(view).join(', ') || '—'],
    ...Object.entries(view.metadata).map(([name, value]): [string, string] => [name, value]),
    ['Models', view.models?.join(', ') ?? 'all'],
    ['Surfaces', view.surfaces?.join(', ') ?? 'all'],
    ['Read only', view.read_only ? 'yes' : 'no'],
    ['Addresses', view.cidrs?.join(', ') ?? 'any'],
    ['Stores responses', view.store_responses === null ? 'as configured' : view.store_responses ? 'yes' : 'no'],
    ...limitRows(view.limits),
    ...Object.entries(view.model_limits).map(([glob, one]): [string, string] => [glob, limitWords(one)]),
    ['Created', view.created_at && view.origin === 'store' ? <Time key="created" at={view.created_at} /> : '—'],
    ['Expires', view.expires_at ? <Time key="expires" at={view.expires_at} /> : 'never'],
    ['Old secret valid until', view.previous_until ? <Time key="previous" at={view.previous_until} /> : '—'],
  ];
  return (
    <div className="flex flex-col gap-6">
      <div className="flex items-center gap-1">
        <code className="min-w-0 truncate text-dim">{view.hash}</code>
        <CopyButton text={view.hash} label="Copy the hash" />
      </div>
      <div className="flex flex-wrap gap-2">
        <Link to="/requests" search={{ key: view.hash }} className="button">
          Its requests
        </Link>
        <Link to="/use" search={{ key: view.hash }} className="button">
          Its use
        </Link>
      </div>
      {isAdmin && view.origin === 'store' && view.state !== 'revoked' && <KeyActions view={view} />}
      <section>
        <h2 className="mb-2">Budgets</h2>
        <Budgets uses={budgetsOfKey(view)} filters={{ key: view.hash }} />
      </section>
      <SpentByPeriod spent={spentByKey(view)} filters={{ key: view.hash }} />
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5">
        {rows.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-dim">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <History subject={view.hash} since="since it was created" />
    </div>
  );
}
