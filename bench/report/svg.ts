/** Plots as SVG, without a library: grouped bars, and lines over a logarithmic scale. */

import { amount } from './table.ts';

const COLOURS: Record<string, string> = {
  nginx: '#4c9a6a',
  bare: '#8a94a6',
  strict: '#2f6fd0',
  batched: '#7fb0f0',
  portkey: '#d9822b',
  litellm: '#b8433f',
  noveum: '#8c6d46',
  postgres: '#7a57b5',
};
const OTHER_COLOUR = '#555555';
const WIDTH = 760;
const LABELS = 250;
const PLOT = WIDTH - LABELS - 110;
const BAR = 16;
const GAP = 12;
const TOP = 64;

export interface Bar {
  /** Names the colour too. */
  name: string;
  value: number;
}

export interface BarGroup {
  label: string;
  bars: readonly Bar[];
}

export function barChart(title: string, unit: string, groups: readonly BarGroup[]): string {
  const most = Math.max(...groups.flatMap(({ bars }) => bars.map(({ value }) => value)));
  const parts: string[] = [];
  let y = TOP;
  for (const { label, bars } of groups) {
    const middle = y + (bars.length * BAR) / 2 + 4;
    parts.push(text(LABELS - 10, middle, label, 'end'));
    for (const { name, value } of bars) {
      const width = Math.max(1, (value / most) * PLOT);
      const height = BAR - 3;
      parts.push(`<rect x="${LABELS}" y="${y}" width="${fixed(width)}" height="${height}" fill="${colourOf(name)}"/>`);
      parts.push(text(LABELS + width + 6, y + 11, `${amount(value)} ${unit}`, 'start', 11));
      y += BAR;
    }
    y += GAP;
  }
  const names = [...new Set(groups.flatMap(({ bars }) => bars.map(({ name }) => name)))];
  return document(y + 4, title, [legend(names), ...parts]);
}

export interface Line {
  name: string;
  points: readonly { x: number; y: number }[];
}

interface Axis {
  title: string;
  ticks: readonly number[];
}

/** Both axes are logarithmic, and end at their outer ticks. */
export function lineChart(title: string, axes: { x: Axis; y: Axis }, lines: readonly Line[]): string {
  const box = { left: 80, right: WIDTH - 40, top: TOP + 10, bottom: 380 };
  const scale = (value: number, { ticks }: Axis, from: number, to: number) => {
    const [first, last] = [Math.log(ticks[0] ?? 1), Math.log(ticks.at(-1) ?? 10)];
    return from + ((Math.log(value) - first) / (last - first)) * (to - from);
  };
  const x = (value: number) => fixed(scale(value, axes.x, box.left, box.right));
  const y = (value: number) => fixed(scale(value, axes.y, box.bottom, box.top));
  const parts = [
    ...axes.x.ticks.flatMap((tick) => [
      `<path d="M${x(tick)} ${box.top}V${box.bottom}" stroke="#e3e6eb"/>`,
      text(Number(x(tick)), box.bottom + 18, tick.toLocaleString('en-US'), 'middle', 11),
    ]),
    ...axes.y.ticks.flatMap((tick) => [
      `<path d="M${box.left} ${y(tick)}H${box.right}" stroke="#e3e6eb"/>`,
      text(box.left - 8, Number(y(tick)) + 4, tick.toLocaleString('en-US'), 'end', 11),
    ]),
    text((box.left + box.right) / 2, box.bottom + 38, axes.x.title, 'middle'),
    text(box.left - 60, box.top - 10, axes.y.title, 'start'),
    ...lines.flatMap(({ name, points }) => {
      const path = points.map((point, index) => `${index === 0 ? 'M' : 'L'}${x(point.x)} ${y(point.y)}`).join('');
      return [
        `<path d="${path}" fill="none" stroke="${colourOf(name)}" stroke-width="2"/>`,
        ...points.map((point) => `<circle cx="${x(point.x)}" cy="${y(point.y)}" r="3.5" fill="${colourOf(name)}"/>`),
      ];
    }),
  ];
  return document(box.bottom + 54, title, [legend(lines.map(({ name }) => name)), ...parts]);
}

/** The least powers of ten, with 2 and 5 between them, around the values. */
export function ticksAround(values: readonly number[]): number[] {
  const all = [0.01, 0.1, 1, 10, 100, 1000, 10_000, 100_000].flatMap((power) => [power, 2 * power, 5 * power]);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const first = Math.max(
    0,
    all.findLastIndex((tick) => tick <= least),
  );
  const last = all.findIndex((tick) => tick >= most);
  return all.slice(first, Math.max(last, first + 1) + 1);
}

function legend(names: readonly string[]): string {
  return names
    .map((name, index) => {
      const left = 20 + index * 100;
      return `<rect x="${left}" y="36" width="11" height="11" fill="${colourOf(name)}"/>${text(left + 16, 46, name, 'start')}`;
    })
    .join('');
}

function document(height: number, title: string, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img"`,
    ` font-family="system-ui, sans-serif"><title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text x="20" y="24" font-size="15" font-weight="600" fill="#1c2430">${escaped(title)}</text>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
}

function text(x: number, y: number, content: string, anchor: 'start' | 'middle' | 'end', size = 12): string {
  return `<text x="${fixed(x)}" y="${fixed(y)}" font-size="${size}" text-anchor="${anchor}" fill="#3a4352">${escaped(content)}</text>`;
}

function colourOf(name: string): string {
  return COLOURS[name] ?? OTHER_COLOUR;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function fixed(value: number): string {
  return String(Math.round(value * 10) / 10);
}
