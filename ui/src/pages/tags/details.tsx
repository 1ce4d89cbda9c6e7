/** One tag in all details, with its keys, requests and use a click away, and what operators can do with it. */

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../api.ts';
import { Budgets, budgetsOf, SpendingTable } from '../../parts/budgets.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Facts } from '../../parts/facts.tsx';
import { History } from '../../parts/history.tsx';
import { limitRows } from '../../parts/limits.ts';
import { formatCount } from '../../parts/numbers.tsx';
import { SameAs } from '../../parts/same-as.tsx';
import { ErrorNotice, Loaded } from '../../parts/states.tsx';
import { UnknownSpending } from '../../parts/unknown-costs.tsx';
import { useSession } from '../../session.ts';
import { quoted } from '../../shell.ts';
import { useTyped } from '../../typed.ts';
import { EditTag } from './edit.tsx';
import { pathOfTag } from './form.ts';
import { oneTag, type TagView, tagQueries } from './query.ts';

export function TagDetails({ tag }: { tag: string }) {
  const asked = useQuery(oneTag(tag));
  return <Loaded asked={asked}>{(view) => <Details view={view} />}</Loaded>;
}

function Details({ view }: { view: TagView }) {
  const { isAdmin } = useSession();
  const { tag, origin } = view;
  return (
    <div className="flex flex-col gap-6">
      <div className="flex flex-wrap gap-2">
        <Link to="/keys" search={{ tag }} className="button">
          Its keys
        </Link>
        <Link to="/requests" search={{ tag }} className="button">
          Its requests
        </Link>
        <Link to="/use" search={{ tag }} className="button">
          Its use
        </Link>
      </div>
      {origin === 'configuration' && (
        <p className="text-dim">Its limits and budgets stand in the configuration and are changed there.</p>
      )}
      {isAdmin && origin !== 'configuration' && <Actions view={view} />}
      <section>
        <h2 className="mb-2">Budgets</h2>
        <Budgets uses={budgetsOf(view)} spent={view.spent} filters={{ tag }} />
      </section>
      <SpendingTable spending={view} filters={{ tag }} />
      <UnknownSpending spending={view} filters={{ tag }} />
      <Facts rows={[['Keys', formatCount(view.keys)], ...limitRows(view.limits), ['Set in', origin ?? '—']]} />
      <History subject={tag} since="in the audit log" />
    </div>
  );
}

function Actions({ view }: { view: TagView }) {
  const { tag, origin } = view;
  const queries = useQueryClient();
  const [shown, setShown] = useTyped<'edit' | 'removal' | undefined>(`tag ${tag} opened`, undefined);
  const close = () => setShown(undefined);
  const removal = useMutation({
    mutationFn: () => api.DELETE('/admin/v1/tags/{tag}', { params: { path: { tag } } }),
    onSuccess: () => {
      close();
      void queries.invalidateQueries({ queryKey: ['audit', tag] });
      return queries.invalidateQueries(tagQueries);
    },
  });

  function openRemoval() {
    removal.reset();
    setShown('removal');
  }

  return (
    <div className="flex flex-wrap gap-2">
      <button type="button" className="button" onClick={() => setShown('edit')}>
        {origin === null ? 'Set limits and budgets …' : 'Change limits and budgets …'}
      </button>
      {origin === 'store' && (
        <button type="button" className="button button-danger" onClick={openRemoval}>
          Remove …
        </button>
      )}
      <EditTag view={view} isOpen={shown === 'edit'} onClose={close} />
      <Dialog title={`Remove the limits of ${tag}`} isOpen={shown === 'removal'} onClose={close}>
        <div className="flex flex-col gap-4">
          <p>
            Its keys keep the tag and their own limits and budgets. What they spend is still counted, so a later budget
            knows of it.
          </p>
          {removal.error && <ErrorNotice error={removal.error} />}
          <button
            type="button"
            className="button button-danger self-start"
            disabled={removal.isPending}
            onClick={() => removal.mutate()}
          >
            Remove limits and budgets
          </button>
          <SameAs command={`polygate tags remove ${quoted(tag)}`} call={{ path: pathOfTag(tag), method: 'DELETE' }} />
        </div>
      </Dialog>
    </div>
  );
}
