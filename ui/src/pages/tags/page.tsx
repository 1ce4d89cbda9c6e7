/** Tags: what the keys of each spend together, and the limits and budgets that they share. */

import { getRouteApi, Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { spentIn } from '../../keys.ts';
import { Budgets, budgetsOf, Forecast, isUnknown, numbersOf, SpentFigure } from '../../parts/budgets.tsx';
import { pathWith } from '../../parts/copy-as.tsx';
import { limitWords } from '../../parts/limits.ts';
import { formatCount } from '../../parts/numbers.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { BreakableName, FilterLine, numbers, Older, SearchField, ShownCount, Table } from '../../parts/table.tsx';
import { TableTools } from '../../parts/table-tools.tsx';
import { useListKeys } from '../../parts/use-list-keys.ts';
import { forecastOf } from '../../periods.ts';
import { useSession } from '../../session.ts';
import { gatewayNow } from '../../times.ts';
import { TagDetails } from './details.tsx';
import { EditTag } from './edit.tsx';
import { type TagView, useTags } from './query.ts';

const route = getRouteApi('/tags');
const COLUMNS = ['Tag', numbers('Keys'), 'Budget', ...['This month', 'Forecast', 'In all'].map(numbers), 'Limits'];

export function TagsPage() {
  const { find, open, edit } = route.useSearch();
  const navigate = route.useNavigate();
  const { isAdmin } = useSession();
  const asked = useTags(find);
  const change = (next: Partial<ReturnType<typeof route.useSearch>>) =>
    navigate({ search: (search) => ({ ...search, ...next }), replace: true });
  const tags = asked.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <Page
      title="Tags"
      about="Groups of keys, such as team=search. All keys with a tag share its limits and budgets. Periods are UTC."
      actions={
        isAdmin && (
          <button type="button" className="button button-primary" onClick={() => change({ edit: true })}>
            <Plus size={15} aria-hidden />
            Limit a tag
          </button>
        )
      }
    >
      <Card>
        <FilterLine>
          <SearchField
            placeholder="Part of name=value"
            value={find ?? ''}
            onChange={(text) => change({ find: text })}
          />
          <ShownCount shown={tags.length} all={asked.data?.pages[0]?.total} />
          <TableTools
            table="Tags"
            columns={COLUMNS}
            file="tags"
            rows={pathWith('/admin/v1/tags', { search: find, format: 'csv' })}
            same={{
              path: pathWith('/admin/v1/tags', { search: find }),
              command: 'polygate tags list',
              note: find === undefined ? undefined : 'The command lists all tags; it has no filter.',
            }}
          />
        </FilterLine>
        <Loaded asked={asked}>
          {() =>
            tags.length === 0 ? (
              <NoTags isSearched={find !== undefined} />
            ) : (
              <TagTable tags={tags} open={open} onOpen={(tag) => change({ open: tag })} />
            )
          }
        </Loaded>
        <Older pages={asked} label="More" />
      </Card>
      <Panel title={open ?? ''} isOpen={open !== undefined} onClose={() => change({ open: undefined })}>
        {open !== undefined && <TagDetails key={open} tag={open} />}
      </Panel>
      <EditTag isOpen={isAdmin && edit === true} onClose={() => change({ edit: undefined })} />
    </Page>
  );
}

function NoTags({ isSearched }: { isSearched: boolean }) {
  if (isSearched) return <Empty title="No tag is like that" />;
  return (
    <Empty title="No key has a tag yet">
      <code>polygate keys update laptop --tag team=search</code>
    </Empty>
  );
}

interface TagTableProps {
  tags: readonly TagView[];
  open: string | undefined;
  onOpen(tag: string): void;
}

function TagTable({ tags, open, onOpen }: TagTableProps) {
  const now = new Date(gatewayNow());
  const rowProps = useListKeys(
    tags.map(({ tag }) => tag),
    { open, onOpen },
  );
  return (
    <Table label="Tags" columns={COLUMNS}>
      {tags.map((view) => {
        const { tag, keys, limits, spent } = view;
        const figure = (period: 'month' | 'total') => (
          <SpentFigure period={period} sums={spentIn(period, view)} filters={{ tag }} />
        );
        return (
          <tr key={tag} data-opens data-open={tag === open ? '' : undefined}>
            <td className="name">
              <button type="button" className="text-left font-mono font-medium" {...rowProps(tag)}>
                <BreakableName name={tag} />
              </button>
            </td>
            <td className="number">
              <Link
                to="/keys"
                search={{ tag }}
                className="relative inline-block min-h-[24px] min-w-[24px] content-center text-accent underline-offset-4 hover:underline"
              >
                {formatCount(keys)}
                <span className="sr-only"> keys with {tag}</span>
              </Link>
            </td>
            <td className="min-w-44">
              <Budgets uses={budgetsOf(view)} spent={spent} filters={{ tag }} isSmall />
            </td>
            <td className="number">{figure('month')}</td>
            <td className="number">
              <Forecast
                usd={isUnknown(spentIn('month', view)) ? undefined : forecastOf('month', numbersOf(spent), now)}
              />
            </td>
            <td className="number text-dim">{figure('total')}</td>
            <td className="text-dim">{limitWords(limits) || 'none'}</td>
          </tr>
        );
      })}
    </Table>
  );
}
