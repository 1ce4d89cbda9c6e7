/** Stacked bars over time, with a table of the same figures. */

import { scaleBand, scaleLinear } from 'd3-scale';
import { type PointerEvent, useId, useLayoutEffect, useRef, useState } from 'react';
import { seriesColor } from './colors.ts';
import { Readout, Twin } from './figures.tsx';
import type { BarsProps } from './props.ts';

/** Until it is measured. */
const WIDTH = 960;
const LABEL_WIDTH = 110;
/** The drawing has the same in its style: it must not grow once its width is measured. */
const HEIGHT = 220;
const MARGIN = { top: 8, right: 4, bottom: 22 };
const TICKS = 4;
/** Widest digit of a label of an axis, and what is between the labels and the bars. */
const DIGIT_WIDTH = 7;
const LABEL_GAP = 8;
const MIN_LABEL_DIGITS = 6;
/** Digits behind the point that money has at least. */
const CENTS = 2;

export function StackedBars(props: BarsProps) {
  const { isTable, onTable } = props;
  return (
    <figure>
      <div className="mb-1 flex items-start justify-between gap-3 max-sm:flex-col-reverse max-sm:gap-1">
        <ul className="flex min-w-0 flex-wrap gap-x-4 gap-y-1 pt-1.5">
          {props.series.map(({ id, label }, index) => (
            <li key={id} className="flex min-w-0 items-center gap-1.5 text-dim">
              <svg width="9" height="9" className="shrink-0" aria-hidden="true">
                <rect width="9" height="9" rx="2" fill={seriesColor(index, id)} />
              </svg>
              <span className="min-w-0 wrap-anywhere">{label}</span>
            </li>
          ))}
          {props.line && (
            <li className="flex items-center gap-1.5 text-dim">
              <svg width="14" height="9" aria-hidden="true">
                <line x2="14" y1="4.5" y2="4.5" className="stroke-ink" strokeWidth="1.5" strokeDasharray="3 2" />
              </svg>
              {props.line.label}
            </li>
          )}
        </ul>
        <button
          type="button"
          className="button button-quiet -mr-3 max-sm:self-end"
          aria-pressed={isTable}
          onClick={() => onTable(!isTable)}
        >
          {isTable ? 'As chart' : 'As table'}
        </button>
      </div>
      {isTable ? <Twin {...props} /> : <Drawing {...props} />}
    </figure>
  );
}

function Drawing(props: BarsProps) {
  const { label, buckets, series, line, format, formatTime, onZoom, onPick, marked, onMark } = props;
  const [shown, setShown] = useState<number>();
  const [start, setStart] = useState<number>();
  const titleId = useId();
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const totals = buckets.map(({ values }) => series.reduce((sum, { id }) => sum + (values[id] ?? 0), 0));
  const y = scaleLinear()
    .domain([0, Math.max(...totals, ...(line?.values ?? []), 0) || 1])
    .nice(TICKS)
    .range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  const ticks = y.ticks(TICKS);
  const tickLabels = withoutCommonZeros(ticks.map(format));
  const digits = Math.max(MIN_LABEL_DIGITS, ...tickLabels.map(({ length }) => length));
  const left = digits * DIGIT_WIDTH + LABEL_GAP;
  const x = scaleBand<number>()
    .domain(buckets.map((_, index) => index))
    .range([left, width - MARGIN.right])
    .paddingInner(buckets.length > 60 ? 0.15 : 0.28);
  const every = Math.max(1, Math.ceil(buckets.length / (width / LABEL_WIDTH)));
  const bucketAt = (event: PointerEvent<SVGSVGElement>): number => {
    const box = event.currentTarget.getBoundingClientRect();
    const x0 = ((event.clientX - box.left) / box.width) * width - left;
    return Math.min(buckets.length - 1, Math.max(0, Math.floor(x0 / x.step())));
  };
  const bucket = shown === undefined ? undefined : buckets[shown];
  return (
    <div className="relative" ref={place}>
      <svg
        viewBox={`0 0 ${width} ${HEIGHT}`}
        className={`h-[220px] w-full touch-pan-y select-none ${onZoom ? 'cursor-crosshair' : ''}`}
        role="img"
        aria-labelledby={titleId}
        onPointerMove={(event) => {
          const at = bucketAt(event);
          setShown(at);
          onMark?.(event.target instanceof SVGElement ? event.target.dataset.series : undefined);
          // A span that is drawn may end beside the drawing.
          if (start !== undefined && start !== at) event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerLeave={() => {
          setShown(undefined);
          setStart(undefined);
          onMark?.(undefined);
        }}
        onPointerCancel={() => setStart(undefined)}
        onPointerDown={(event) => onZoom && setStart(bucketAt(event))}
        onPointerUp={(event) => {
          const end = bucketAt(event);
          if (start !== undefined && start !== end && onZoom) {
            const [from, to] = [buckets[Math.min(start, end)], buckets[Math.max(start, end)]];
            if (from && to) onZoom(from, to);
          } else if (event.target instanceof SVGElement && event.target.dataset.series !== undefined) {
            onPick?.(event.target.dataset.series);
          }
          setStart(undefined);
        }}
      >
        <title id={titleId}>{label}</title>
        {ticks.map((tick, index) => (
          <g key={tick}>
            <line x1={left} x2={width - MARGIN.right} y1={y(tick)} y2={y(tick)} className="stroke-line" />
            <text x={left - LABEL_GAP} y={y(tick) + 4} textAnchor="end" className="fill-dim text-[11px]">
              {tickLabels[index]}
            </text>
          </g>
        ))}
        {start !== undefined && shown !== undefined && (
          <rect
            x={x(Math.min(start, shown))}
            width={x.step() * (Math.abs(start - shown) + 1)}
            y={MARGIN.top}
            height={HEIGHT - MARGIN.top - MARGIN.bottom}
            className="fill-accent-soft"
          />
        )}
        {buckets.map(({ at, values }, index) => {
          let base = 0;
          return (
            <g key={at} opacity={shown === undefined || shown === index ? 1 : 0.45}>
              {series.map(({ id }, order) => {
                const value = values[id] ?? 0;
                const [from, to] = [y(base), y(base + value)];
                base += value;
                return (
                  value > 0 && (
                    <rect
                      key={id}
                      data-series={id}
                      className={onPick && 'cursor-pointer'}
                      x={x(index)}
                      width={x.bandwidth()}
                      y={to}
                      height={Math.max(from - to, 0.5)}
                      rx={Math.min(1.5, x.bandwidth() / 4)}
                      fill={seriesColor(order, id)}
                      opacity={marked === undefined || marked === id ? 1 : 0.3}
                    />
                  )
                );
              })}
              {index % every === 0 && (
                <text
                  x={(x(index) ?? 0) + x.bandwidth() / 2}
                  y={HEIGHT - 6}
                  textAnchor="middle"
                  className="fill-dim text-[11px]"
                >
                  {formatTime(at)}
                </text>
              )}
            </g>
          );
        })}
        {line && (
          <polyline
            data-line
            points={line.values.map((value, index) => `${(x(index) ?? 0) + x.bandwidth() / 2},${y(value)}`).join(' ')}
            fill="none"
            className="pointer-events-none stroke-ink"
            strokeWidth="1.5"
            strokeDasharray="4 3"
            strokeLinejoin="round"
          />
        )}
      </svg>
      {bucket && shown !== undefined && (
        <Readout
          {...{ bucket, series, format, formatTime, total: totals[shown] ?? 0 }}
          beside={line && { label: line.label, value: line.values[shown] ?? 0 }}
          style={shown > buckets.length / 2 ? { left: left + LABEL_GAP } : { right: '0.5rem' }}
        />
      )}
    </div>
  );
}

/** Labels of one axis without the zeros at which all of them end, so that `$0.000006000` is `$0.000006`. */
function withoutCommonZeros(labels: readonly string[]): string[] {
  const spare = labels.map((label) => {
    const behindPoint = /\.(\d+)$/.exec(label)?.[1] ?? '';
    const zeros = /0*$/.exec(behindPoint)?.[0].length ?? 0;
    return Math.min(zeros, Math.max(0, behindPoint.length - CENTS));
  });
  const common = Math.min(...spare);
  return labels.map((label) => label.slice(0, label.length - common));
}

/** Width of an element in pixels, so that text in a drawing keeps its size. */
function useWidth(element: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(WIDTH);
  useLayoutEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.max(240, entry.contentRect.width)));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
