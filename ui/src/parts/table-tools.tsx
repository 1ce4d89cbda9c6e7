/** Tools above a table at its right: the choice of its columns, and its rows as a file. */

import { Select, SelectItem, SelectItemCheck, SelectPopover, SelectProvider } from '@ariakit/react';
import { Columns3, Download } from 'lucide-react';
import { csvOfRows, saveFile } from '../csv.ts';
import { CopyAs, type SameCall } from './copy-as.tsx';
import { useHiddenColumns } from './hidden-columns.ts';
import { type Column, columnOf } from './table.tsx';

export interface RowsFile {
  /** Name of the file without its ending. */
  file: string;
  /** The address of a file that the gateway makes; or all rows that there are, as the API gave them, or what makes them. */
  rows: readonly object[] | string | (() => readonly object[]);
}

interface TableToolsProps extends RowsFile {
  /** Label of the table. */
  table: string;
  /** Absent where nothing can be chosen. */
  columns: readonly Column[] | undefined;
  /** Command that has the list in a terminal. */
  same?: SameCall;
}

export function TableTools({ table, columns, file, rows, same }: TableToolsProps) {
  return (
    <div className="ml-auto flex flex-wrap gap-2">
      {same && <CopyAs {...same} />}
      {columns && <ColumnChoice table={table} columns={columns} />}
      <SaveRows file={file} rows={rows} />
    </div>
  );
}

export function SaveRows({ file, rows }: RowsFile) {
  const words = (
    <>
      <Download size={14} aria-hidden />
      CSV
    </>
  );
  if (typeof rows === 'string') {
    return (
      <a className="button" href={rows} download={`${file}.csv`} data-export title="All rows of these filters (e)">
        {words}
      </a>
    );
  }
  return (
    <button
      type="button"
      className="button"
      data-export
      title="The rows that are shown (e)"
      disabled={typeof rows !== 'function' && rows.length === 0}
      onClick={() => saveFile(`${file}.csv`, csvOfRows(typeof rows === 'function' ? rows() : rows))}
    >
      {words}
    </button>
  );
}

/** The first column opens the row, so it stays. */
export function ColumnChoice({ table, columns }: { table: string; columns: readonly Column[] }) {
  const [hidden, hide] = useHiddenColumns(table);
  const names = columns.slice(1).flatMap((column) => (columnOf(column).isHidden ? [] : [columnOf(column).name]));
  const shown = names.filter((name) => !hidden.includes(name));
  return (
    <SelectProvider value={shown} setValue={(next: string[]) => hide(names.filter((name) => !next.includes(name)))}>
      <Select className="button" aria-label={`Columns of ${table}`}>
        <Columns3 size={14} aria-hidden />
        Columns
        {shown.length < names.length && (
          <span className="text-dim tabular-nums">
            {shown.length + 1} of {names.length + 1}
          </span>
        )}
      </Select>
      <SelectPopover gutter={4} className="menu" portal>
        {names.map((name) => (
          <SelectItem key={name} value={name}>
            <span className="flex-1">{name}</span>
            <SelectItemCheck className="text-accent" />
          </SelectItem>
        ))}
      </SelectPopover>
    </SelectProvider>
  );
}
