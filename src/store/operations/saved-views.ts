/** Saved views of the dashboard: names for addresses of its pages, of operators together or of a key. */

import { GatewayError } from '../../core/errors.ts';
import { type Row, reading, type Transaction, writing } from '../operation.ts';
import { nextVersion } from '../version-rows.ts';

export interface SavedView {
  id: string;
  name: string;
  /** Path and search of the page. */
  address: string;
  /** Unix milliseconds. */
  updatedAt: number;
}

interface OwnedView {
  /** Id of a key, or that of operators. */
  owner: string;
  id: string;
}

/** Views of one owner. */
const MAX_VIEWS = 100;

/** All of an owner, by their names. */
export const listSavedViews = reading<{ owner: string }, SavedView[]>('state', async (transaction, values) => {
  const rows = await transaction.all(`${COLUMNS} WHERE owner = :owner`, values);
  return rows.map(savedView).sort((one, other) => (one.name < other.name ? -1 : Number(one.name > other.name)));
});

export const readSavedView = reading<OwnedView, SavedView | undefined>('state', (transaction, view) =>
  findView(transaction, view),
);

/** Makes or replaces a view. Throws `invalid_request` if its page has another of the name, or the owner has too many. */
export const putSavedView = writing<{ owner: string; view: SavedView }, void>(
  'state',
  async (transaction, { owner, view }) => {
    // One writer at a time, so that gateways count and compare the same views.
    await nextVersion(transaction, 'views');
    const { id, name, address, updatedAt } = view;
    const [page = ''] = address.split('?', 1);
    const sameName = 'SELECT id FROM saved_view WHERE owner = :owner AND page = :page AND name = :name AND id <> :id';
    if ((await transaction.all(sameName, { owner, id, page, name })).length > 0) {
      throw new GatewayError('invalid_request', 'name is that of another view of the page.', { param: 'name' });
    }
    if (!(await findView(transaction, { owner, id }))) await requireRoom(transaction, owner);
    await transaction.run(
      `INSERT INTO saved_view (owner, id, page, name, address, updated_at) VALUES (:owner, :id, :page, :name, :address, :updatedAt)
     ON CONFLICT (owner, id) DO UPDATE
     SET page = excluded.page, name = excluded.name, address = excluded.address, updated_at = excluded.updated_at`,
      { owner, id, page, name, address, updatedAt },
    );
  },
);

/** False if there is none. */
export const removeSavedView = writing<OwnedView, boolean>('state', async (transaction, { owner, id }) => {
  const removed = await transaction.run('DELETE FROM saved_view WHERE owner = :owner AND id = :id', { owner, id });
  return removed > 0;
});

const COLUMNS = 'SELECT id, name, address, updated_at FROM saved_view';

async function findView(transaction: Transaction, { owner, id }: OwnedView): Promise<SavedView | undefined> {
  const [row] = await transaction.all(`${COLUMNS} WHERE owner = :owner AND id = :id`, { owner, id });
  return row && savedView(row);
}

async function requireRoom(transaction: Transaction, owner: string): Promise<void> {
  const [row] = await transaction.all('SELECT count(*) AS n FROM saved_view WHERE owner = :owner', { owner });
  if (Number(row?.n) < MAX_VIEWS) return;
  throw new GatewayError('invalid_request', `At most ${MAX_VIEWS} views are kept; delete one first.`, { param: 'id' });
}

function savedView({ id, name, address, updated_at: updatedAt }: Row): SavedView {
  return { id: String(id), name: String(name), address: String(address), updatedAt: Number(updatedAt) };
}
