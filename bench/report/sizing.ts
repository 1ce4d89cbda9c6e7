/** The generated part of docs/sizing.md: the capacity of a core, the memory of a gateway and the load on PostgreSQL, as a results file has them. */

import { join } from 'node:path';
import type { Figure } from '../figure.ts';
import { markdownTable } from './markdown.ts';
import type { Results } from './results.ts';
import { amount } from './table.ts';

export const SIZING_PAGE = join(import.meta.dirname, '../../docs/sizing.md');

type Measure = Pick<Figure, 'row' | 'metric'> & { subject?: string };

const US_PER_SECOND = 1e6;
const WORK: readonly [title: string, row: string, unit: 'requests' | 'frames'][] = [
  ['whole answer, passthrough, strict durability', 'passthrough', 'requests'],
  ['whole answer, messages to chat', 'messages-to-chat', 'requests'],
  ['whole answer, chat to messages', 'chat-to-messages', 'requests'],
  ['request of 100 kB', '100kB', 'requests'],
  ['request of 5 MB', '5MB', 'requests'],
  ['one frame of a stream, passthrough', 'frame', 'frames'],
  ['one frame of a stream, translated', 'frame-translated', 'frames'],
];
const STATES: readonly [title: string, measure: Measure][] = [
  ['idle', { row: 'memory', metric: 'idle' }],
  ['after all loads of the benchmark', { row: 'memory', metric: 'after load' }],
  ['with 1,000 open streams', { row: 'streams', metric: 'memory with 1000' }],
  ['with 5,000 open streams', { row: 'streams', metric: 'memory with 5000' }],
  ['each further slow stream', { row: 'streams', metric: 'each of 1000 to 5000' }],
];
const DATABASE: readonly [title: string, Measure, Measure][] = [
  [
    'one gateway, 32 connections',
    { row: 'postgres', metric: 'gateway', subject: 'postgres' },
    { row: 'postgres', metric: 'server', subject: 'postgres' },
  ],
  [
    'one gateway, 64 connections',
    { row: 'replicas', metric: 'gateway', subject: 'one gateway' },
    { row: 'replicas', metric: 'server', subject: 'one gateway' },
  ],
  [
    'two gateways, 64 connections',
    { row: 'replicas', metric: 'gateway', subject: 'two gateways' },
    { row: 'replicas', metric: 'server', subject: 'two gateways' },
  ],
];

/** Throws if the file lacks one of the figures. */
export function generatedSizing({ figures, commit, machine }: Results): string {
  const of = ({ row, metric, subject = 'strict' }: Measure): Figure => {
    const found = figures.find((one) => one.row === row && one.metric === metric && one.subject === subject);
    if (!found) throw new Error(`The results file lacks "${metric}" of ${subject} in the row ${row}.`);
    return found;
  };
  const text = (measure: Measure) => `${amount(of(measure).value)} ${of(measure).unit}`;
  const work = WORK.map(([title, row, unit]) => {
    const { value } = of({ row, metric: 'cpu warm' });
    return [title, text({ row, metric: 'cpu warm' }), `${perSecond(value)} ${unit}/s`];
  });
  const states = STATES.map(([title, measure]) => [title, text(measure)]);
  const database = DATABASE.map(([title, gateway, server]) => [title, text(gateway), text(server)]);
  return [
    `The figures are of commit ${commit} on ${machine.cores} cores (${machine.processor}).`,
    markdownTable([['Work of one gateway, warm', 'Processor time', 'That is, at most, on one core'], ...work]),
    markdownTable([['State', 'Resident memory'], ...states]),
    markdownTable([
      ['Whole answers with a store in PostgreSQL', 'Each costs the gateway', 'and the server'],
      ...database,
    ]),
  ].join('\n\n');
}

function perSecond(microseconds: number): string {
  return Number((US_PER_SECOND / microseconds).toPrecision(2)).toLocaleString('en-US');
}
