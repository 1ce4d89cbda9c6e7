/** Figures of a chart in words: those of one bar, and all of them as a table. */

import type { CSSProperties } from 'react';
import { TableScroll } from '../table-scroll.tsx';
import { seriesColor } from './colors.ts';
import type { BarsProps, Bucket } from './props.ts';

interface ReadoutProps extends Pick<BarsProps, 'series' | 'format' | 'formatTime'> {
  bucket: Bucket;
  total: number;
  /** Of the line over the bars. */
  beside: { label: string; value: number } | undefined;
  style: CSSProperties;
}

export function Readout({ bucket, series, total, beside, format, formatTime, style }: ReadoutProps) {
  return (
    <div
      className="pointer-events-none absolute top-1 z-10 min-w-40 rounded-lg border bg-raised px-3 py-2 shadow-lg"
      style={style}
    >
      <div className="mb-1 font-medium">{formatTime(bucket.at)}</div>
      {series
        .map(({ id, label }, index) => ({ id, label, index, value: bucket.values[id] ?? 0 }))
        .filter(({ value }) => value > 0)
        .map(({ id, label, index, value }) => (
          <div key={id} className="flex items-center gap-2">
            <svg width="8" height="8" aria-hidden="true">
              <rect width="8" height="8" rx="2" fill={seriesColor(index, id)} />
            </svg>
            <span className="text-dim">{label}</span>
            <span className="ml-auto pl-4 tabular-nums">{format(value)}</span>
          </div>
        ))}
      <div className="mt-1 flex border-t pt-1">
        <span className="text-dim">Total</span>
        <span className="ml-auto pl-4 tabular-nums">{format(total)}</span>
      </div>
      {beside && (
        <div className="flex">
          <span className="text-dim">{beside.label}</span>
          <span className="ml-auto pl-4 tabular-nums">{format(beside.value)}</span>
        </div>
      )}
    </div>
  );
}

export function Twin({ label, buckets, series, line, format, formatTime }: BarsProps) {
  return (
    <TableScroll label="Figures of the chart" className="max-h-72">
      <table className="data">
        <caption className="sr-only">{label}</caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {[...series, ...(line ? [{ id: 'line', label: line.label }] : [])].map(({ id, label: name }) => (
              <th key={id} scope="col" className="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {buckets.map(({ at, values }, index) => (
            <tr key={at}>
              <td>{formatTime(at)}</td>
              {series.map(({ id }) => (
                <td key={id} className="number">
                  {format(values[id] ?? 0)}
                </td>
              ))}
              {line && <td className="number text-dim">{format(line.values[index] ?? 0)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}
