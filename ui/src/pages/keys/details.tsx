/** One key in all details, and what was done to it. */

import { Link } from '@tanstack/react-router';
import { type KeyView, tagsOf } from '../../keys.ts';
import { Budgets, budgetsOf, SpendingTable } from '../../parts/budgets.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Facts } from '../../parts/facts.tsx';
import { History } from '../../parts/history.tsx';
import { limitRows, limitWords } from '../../parts/limits.ts';
import { Time } from '../../parts/numbers.tsx';
import { modelLimitRows, permissionRows } from '../../parts/permissions.ts';
import { Status, type Tone } from '../../parts/status.tsx';
import { UnknownSpending } from '../../parts/unknown-costs.tsx';
import { useSession } from '../../session.ts';
import { KeyActions } from './actions.tsx';

export function KeyDetails({ view }: { view: KeyView }) {
  const { isAdmin } = useSession();
  const rows: [string, React.ReactNode][] = [
    ['State', <KeyState key="state" state={view.state} />],
    ['Origin', view.origin],
    ['Owner', view.owner ?? '—'],
    ['Tags', <TagLinks key="tags" tags={tagsOf(view)} />],
    ...Object.entries(view.metadata).map(([name, value]): [string, string] => [name, value]),
    ...permissionRows(view),
    ['Stores responses', view.store_responses === null ? 'as configured' : view.store_responses ? 'yes' : 'no'],
    ...limitRows(view.effective.limits),
    ...modelLimitRows(view),
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
        <Budgets uses={budgetsOf(view.effective)} spent={view.spent} filters={{ key: view.hash }} />
      </section>
      {Object.entries(view.effective.tags ?? {}).map(([tag, shared]) => (
        <section key={tag} className="flex flex-col gap-2">
          <h2>
            Shared by all keys with <TagLinks tags={[tag]} />
          </h2>
          <Budgets uses={budgetsOf(shared)} spent={shared.spent} filters={{ tag }} />
          <p className="text-dim">{limitWords(shared.limits) || 'No limits.'}</p>
        </section>
      ))}
      <SpendingTable spending={view} filters={{ key: view.hash }} />
      <UnknownSpending spending={view} filters={{ key: view.hash }} />
      <Facts rows={rows} />
      <History subject={view.hash} since="since it was created" />
    </div>
  );
}

function TagLinks({ tags }: { tags: readonly string[] }) {
  if (tags.length === 0) return '—';
  return (
    <span className="inline-flex flex-wrap gap-x-3">
      {tags.map((tag) => (
        <Link
          key={tag}
          to="/tags"
          search={{ open: tag }}
          className="inline-block min-h-[24px] content-center font-mono break-all text-accent underline-offset-4 hover:underline"
        >
          {tag}
        </Link>
      ))}
    </span>
  );
}

const TONES: Record<KeyView['state'], Tone> = { active: 'good', disabled: 'quiet', expired: 'warn', revoked: 'bad' };

export function KeyState({ state }: { state: KeyView['state'] }) {
  return <Status tone={TONES[state]}>{state}</Status>;
}
