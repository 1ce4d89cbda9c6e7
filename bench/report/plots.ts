/** Plots of a results file: processor time by that of nginx, latency over rate, and memory. */

import type { Figure } from '../figure.ts';
import type { Results } from './results.ts';
import { barChart, lineChart, ticksAround } from './svg.ts';
import { amount } from './table.ts';

interface Titled {
  id: string;
  title: string;
}

/** SVG text by the name of its file. */
export function plotsOf({ figures }: Results, rows: readonly Titled[]): Record<string, string> {
  return { 'cpu.svg': cpuPlot(figures, rows), 'latency.svg': latencyPlot(figures), 'memory.svg': memoryPlot(figures) };
}

/** Left out: the reference, and one that would make all other bars too short to see. */
const HIDDEN = new Set(['nginx', 'litellm']);

function cpuPlot(figures: readonly Figure[], rows: readonly Titled[]): string {
  const reference = figures.some(({ subject }) => subject === 'nginx') ? 'toNginx' : 'toBare';
  const groups = rows.flatMap(({ id, title }) => {
    const bars = figures
      .filter(({ row, metric, subject }) => row === id && metric === 'cpu warm' && !HIDDEN.has(subject))
      .map((one) => ({ name: one.subject, value: one[reference] ?? 0 }));
    return bars.length === 0 ? [] : [{ label: title.replace(/ \(.*\)$/, ''), bars }];
  });
  const unit = reference === 'toNginx' ? 'x nginx' : 'x bare';
  const litellm = figures.find(({ subject, metric }) => subject === 'litellm' && metric === 'cpu warm');
  const rest = litellm ? `; LiteLLM, not shown: ${amount(litellm[reference] ?? 0)}` : '';
  return barChart(`Processor time of a request, or of a frame, warm (${unit}${rest})`, 'x', groups);
}

function latencyPlot(figures: readonly Figure[]): string {
  const points = figures
    .filter(({ metric }) => metric === 'p99')
    .flatMap(({ row, subject, value, answersPerSecond }) => {
      const x = row.startsWith('rate-') ? Number(row.slice('rate-'.length)) : answersPerSecond;
      return x === undefined ? [] : [{ name: subject, x, y: value }];
    });
  const names = [...new Set(points.map(({ name }) => name))];
  const axes = {
    x: {
      title: 'requests per second (log); the last point is 2/3 of saturation',
      ticks: ticksAround(points.map(({ x }) => x)),
    },
    y: { title: 'p99, ms (log)', ticks: ticksAround(points.map(({ y }) => y)) },
  };
  const lines = names.map((name) => ({
    name,
    points: points.filter((point) => point.name === name).sort((one, other) => one.x - other.x),
  }));
  return lineChart('Latency over rate', axes, lines);
}

function memoryPlot(figures: readonly Figure[]): string {
  const memory = (row: string, metrics: RegExp) => {
    const own = figures.filter((one) => one.row === row && metrics.test(one.metric));
    return [...new Set(own.map(({ metric }) => metric))].map((metric) => ({
      label: row === 'streams' ? metric.replace('memory with', 'open streams:') : metric,
      bars: own.filter((one) => one.metric === metric).map(({ subject, value }) => ({ name: subject, value })),
    }));
  };
  const groups = [...memory('memory', /./), ...memory('streams', /^memory with/)];
  return barChart('Resident memory (MB)', 'MB', groups);
}
