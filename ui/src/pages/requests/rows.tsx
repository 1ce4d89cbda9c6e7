/** Table of requests: a row each, of which only those in view are in the document. */

import { memo, type Ref, useMemo } from 'react';
import { EstimateMark } from '../../parts/estimate-mark.tsx';
import { formatCount, formatMs, Money, Time } from '../../parts/numbers.tsx';
import { RowGap } from '../../parts/row-gap.tsx';
import { useRowsInView } from '../../parts/rows-in-view.ts';
import { type Column, numbers, Table } from '../../parts/table.tsx';
import { useListKeys } from '../../parts/use-list-keys.ts';
import { useSession } from '../../session.ts';
import type { RequestView } from './query.ts';
import { RequestStatus } from './status.tsx';

const WIRES: Record<string, string> = { chat: 'chat', messages: 'msg', generate: 'gen', responses: 'resp' };
const wire = (name: string) => WIRES[name] ?? name;

const ENDINGS: Record<string, string> = { one: 'st', two: 'nd', few: 'rd', other: 'th' };
const ordinals = new Intl.PluralRules('en', { type: 'ordinal' });
const ordinal = (number: number) => `${number}${ENDINGS[ordinals.select(number)]}`;

export function columnsOf(isOperator: boolean): Column[] {
  return [
    ...['Time', ...(isOperator ? ['Key'] : []), 'Model', 'Wire', 'State'],
    ...['Tokens in / out', 'Cost', 'First / whole'].map(numbers),
  ];
}

interface RequestTableProps {
  rows: RequestView[];
  open: string | undefined;
  onOpen(id: string): void;
}

export function RequestTable({ rows, open, onOpen }: RequestTableProps) {
  const { isOperator } = useSession();
  const ids = useMemo(() => rows.map(({ id }) => id), [rows]);
  const { body, first, end, above, below, show } = useRowsInView(rows.length);
  const rowProps = useListKeys(ids, { open, onOpen, onAbsent: show });
  const columns = columnsOf(isOperator);
  return (
    <Table label="Requests" columns={columns} rowCount={rows.length + 1} body={body}>
      <RowGap columns={columns.length} height={above} />
      {rows.slice(first, end).map((row, index) => (
        <RequestRow
          key={row.id}
          row={row}
          place={first + index + 2}
          isOpen={row.id === open}
          hasKey={isOperator}
          rowProps={rowProps}
        />
      ))}
      <RowGap columns={columns.length} height={below} />
    </Table>
  );
}

interface RequestRowProps {
  row: RequestView;
  /** From 1, with the head of the table. */
  place: number;
  isOpen: boolean;
  hasKey: boolean;
  rowProps(id: string): { ref: Ref<HTMLButtonElement>; onFocus(): void; onClick(): void };
}

const RequestRow = memo(function RequestRow({ row, place, isOpen, hasKey, rowProps }: RequestRowProps) {
  const isRunning = row.status === 'running';
  const isOtherModel = row.requested_model !== row.model;
  return (
    <tr aria-rowindex={place} data-opens data-open={isOpen ? '' : undefined}>
      <td>
        <button type="button" className="font-mono text-dim hover:text-ink" {...rowProps(row.id)}>
          <Time at={row.ended_at ?? row.started_at} withDate={false} />
        </button>
      </td>
      {hasKey && <td className="max-w-36 truncate">{row.key_name ?? row.key_hash}</td>}
      <td
        className="w-full min-w-48 max-w-0 truncate"
        title={isOtherModel ? `${row.model} for ${row.requested_model}` : row.model}
      >
        <span className="font-medium">{row.model}</span>
        {(row.endpoint_number ?? 1) > 1 && (
          <span className="text-warn" title="Which of the endpoints that were tried">
            {' '}
            ({ordinal(row.endpoint_number ?? 1)})
          </span>
        )}
        {isOtherModel && <span className="text-dim"> for {row.requested_model}</span>}
      </td>
      <td className="text-dim">
        {wire(row.protocol)} {row.protocol === row.upstream_protocol ? '=' : '→'} {wire(row.upstream_protocol)}
      </td>
      <td>
        <span className="flex items-center gap-1.5">
          <RequestStatus view={row} />
          {row.attempts > 1 && <span className="text-warn">{row.attempts} attempts</span>}
          {row.dropped.length > 0 && <span className="text-warn">{row.dropped.length} dropped</span>}
          {(row.tool_failures ?? 0) > 0 && (
            <span className="text-warn">
              {row.tool_failures} {row.tool_failures === 1 ? 'tool' : 'tools'} failed
            </span>
          )}
        </span>
      </td>
      <td className="number">
        {isRunning ? '…' : `${formatCount(row.input_tokens)} / ${formatCount(row.output_tokens)}`}
      </td>
      <td className="number">
        {isRunning ? '…' : <Money usd={row.cost} />}
        {row.estimated && <EstimateMark />}
      </td>
      <td className="number text-dim">
        {row.total_ms === null
          ? '…'
          : `${row.first_byte_ms === null ? '—' : formatCount(row.first_byte_ms)} / ${formatMs(row.total_ms)}`}
      </td>
    </tr>
  );
});
