/** Counters and histograms: the same text as prom-client writes, and a bounded cost. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { createInstruments } from '../../src/telemetry/instruments.ts';

const BUCKETS = [0.01, 0.5, 1, 30];
const label = fc.oneof(
  fc.constantFrom('a', 'b', 'a"b', 'a\\b', 'a\nb', '', '__proto__', 'é'),
  fc.string({ maxLength: 5 }),
);
const amount = fc.oneof(fc.nat(), fc.double({ min: 0, max: 1e9, noNaN: true }), fc.constantFrom(...BUCKETS));
const steps = fc.array(fc.record({ counts: fc.boolean(), first: label, second: label, amount }), { maxLength: 30 });

test('the text is that of prom-client', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.double({ noNaN: true, min: 0, max: 1e6 }), async (list, level) => {
      const own = createInstruments();
      const registers = [new Registry()];
      const labelNames = ['first', 'second'];
      const plain = [
        own.counter('plain_total', 'Plain.'),
        new Counter({ name: 'plain_total', help: 'Plain.', registers }),
      ] as const;
      const counter = [
        own.counter('c_total', 'Counted.', labelNames),
        new Counter({ name: 'c_total', help: 'Counted.', labelNames, registers }),
      ] as const;
      const histogram = [
        own.histogram('h', 'Measured.', BUCKETS, labelNames),
        new Histogram({ name: 'h', help: 'Measured.', buckets: BUCKETS, labelNames, registers }),
      ] as const;
      own.gauge('g', 'Read.', () => level);
      new Gauge({ name: 'g', help: 'Read.', registers }).set(level);
      for (const { counts, first, second, amount } of list) {
        if (counts) {
          plain[0].with().add(amount);
          plain[1].inc(amount);
          counter[0].with(first, second).add(amount);
          counter[1].inc({ first, second }, amount);
        } else {
          histogram[0].with(first, second).observe(amount);
          histogram[1].observe({ first, second }, amount);
        }
      }
      assert.deepEqual(
        `${await own.text()}\n`.split('\n').toSorted(),
        (await registers[0]?.metrics())?.split('\n').toSorted(),
      );
    }),
  );
});

test('series are written in the order of their first use', async () => {
  const own = createInstruments();
  const counter = own.counter('c_total', 'Counted.', ['a', 'b']);
  for (const [a, b] of [
    ['x', '1'],
    ['y', '1'],
    ['x', '2'],
    ['x', '1'],
  ] as const)
    counter.with(a, b).add(1);
  assert.deepEqual((await own.text()).split('\n').slice(2), [
    'c_total{a="x",b="1"} 2',
    'c_total{a="y",b="1"} 1',
    'c_total{a="x",b="2"} 1',
  ]);
});

test('a child is made once', () => {
  const counter = createInstruments().counter('c_total', 'Counted.', ['a', 'b']);
  assert.equal(counter.with('x', 'y'), counter.with('x', 'y'));
  assert.notEqual(counter.with('x', 'y'), counter.with('y', 'x'));
});
