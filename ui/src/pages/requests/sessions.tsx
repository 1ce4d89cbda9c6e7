/** Requests grouped by conversation: one line for each session of a coding agent. */

import { PartEstimateMark } from '../../parts/estimate-mark.tsx';
import { PagesCount } from '../../parts/list-filters.tsx';
import { formatCount, formatShare, formatShort, Money, Time } from '../../parts/numbers.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { type Column, numbers, Older, Table } from '../../parts/table.tsx';
import { TableTools } from '../../parts/table-tools.tsx';
import { useListKeys } from '../../parts/use-list-keys.ts';
import { useSession } from '../../session.ts';
import { type Filters, pathOfSessions } from './query.ts';
import { type SessionLine, useSessions } from './sessions-query.ts';

interface SessionsProps {
  filters: Filters;
  isPaused: boolean;
  onOpen(session: string): void;
}

export function Sessions({ filters, isPaused, onOpen }: SessionsProps) {
  const asked = useSessions(filters, isPaused);
  return (
    <Loaded asked={asked}>
      {({ data, complete }) =>
        data.length === 0 ? (
          <Empty title="No conversation is named">
            Coding agents name theirs by themselves; other programs do with the header <code>x-session-id</code>, or
            with <code>prompt_cache_key</code> or <code>metadata.user_id</code> in the body.
          </Empty>
        ) : (
          <>
            <SessionTable
              lines={data}
              newestOf={complete ? undefined : filters.from || filters.to ? 'this time' : 'a day'}
              onOpen={onOpen}
            />
            <Older pages={asked} label="Look further back" />
          </>
        )
      }
    </Loaded>
  );
}

/** Above the list, beside its filters. */
export function SessionTools({ filters, isPaused }: Omit<SessionsProps, 'onOpen'>) {
  const { isOperator } = useSession();
  const { data } = useSessions(filters, isPaused);
  return (
    <>
      {data && <PagesCount shown={data.data.length} pages={data.pages} />}
      <TableTools
        table="Sessions"
        columns={columnsOf(isOperator)}
        file="conversations"
        rows={pathOfSessions(isOperator, filters, 'csv')}
        same={{ path: pathOfSessions(isOperator, filters) }}
      />
    </>
  );
}

function columnsOf(isOperator: boolean): Column[] {
  const sums = ['Turns', 'Failed', 'Partial', 'Tools failed', 'In', 'Cached', 'Out', 'Cost'].map(numbers);
  return ['Last', 'Session', ...(isOperator ? ['Key'] : []), 'Models', ...sums];
}

interface SessionTableProps {
  lines: SessionLine[];
  /** Time of which only the newest requests are in the lines; undefined if all are. */
  newestOf: string | undefined;
  onOpen(session: string): void;
}

function SessionTable({ lines, newestOf, onOpen }: SessionTableProps) {
  const { isOperator } = useSession();
  const rowProps = useListKeys(
    lines.map(({ session }) => session),
    { open: undefined, onOpen },
  );
  return (
    <Table
      label="Sessions"
      columns={columnsOf(isOperator)}
      below={
        <div className="flex flex-col gap-1 border-t p-3 text-center text-dim">
          {newestOf && (
            <p>
              Made of the newest {formatCount(sumOfRequests(lines))} requests of {newestOf}.
            </p>
          )}
          <p>
            Tools that failed are counted over messages and generate; the other protocols do not mark their results.
          </p>
        </div>
      }
    >
      {lines.map((line) => (
        <tr key={line.session} data-opens>
          <td className="text-dim">
            <Time at={line.last_at} />
          </td>
          <td>
            <button
              type="button"
              title={line.session}
              className="block max-w-44 truncate text-left font-medium"
              {...rowProps(line.session)}
            >
              {line.session}
            </button>
          </td>
          {isOperator && (
            <td className="max-w-24 truncate" title={namesOf(line.keys)}>
              {namesOf(line.keys)}
            </td>
          )}
          <td className="max-w-32 truncate text-dim" title={line.models.join(', ')}>
            {line.models.join(', ')}
          </td>
          <td className="number">{formatCount(line.requests)}</td>
          <td className={`number ${line.failures > 0 ? 'text-bad' : 'text-dim'}`}>{formatCount(line.failures)}</td>
          <td className={`number ${line.partial > 0 ? 'text-warn' : 'text-dim'}`}>{formatCount(line.partial)}</td>
          <ToolFailures count={line.tool_failures} />
          <td className="number">{formatShort(line.input_tokens)}</td>
          <td className="number text-dim">{formatShare(line.cached_tokens, line.input_tokens)}</td>
          <td className="number">{formatShort(line.output_tokens)}</td>
          <td className="number">
            <Money usd={line.cost} />
            <PartEstimateMark cost={line.estimated_cost} />
            {line.cost !== null && line.unknown_costs > 0 && <span className="text-dim"> + unknown</span>}
          </td>
        </tr>
      ))}
    </Table>
  );
}

const namesOf = (keys: SessionLine['keys']): string => keys.map(({ hash, name }) => name ?? hash).join(', ');

function sumOfRequests(lines: readonly SessionLine[]): number {
  return lines.reduce((sum, { requests }) => sum + requests, 0);
}

function ToolFailures({ count }: { count: number | null }) {
  if (count === null) return <td className="number text-dim">—</td>;
  return <td className={`number ${count > 0 ? 'text-warn' : 'text-dim'}`}>{formatCount(count)}</td>;
}
