/** Instruments: counters and histograms kept as numbers, and their exposition in the Prometheus text format. */

export interface Counter {
  add(amount: number): void;
}

export interface Histogram {
  observe(value: number): void;
}

/** A metric with one child for each combination of label values. A child is made once and then looked up by its values. */
export interface Family<Child> {
  /** Child with the label values, in the order of the label names. */
  with(...labelValues: string[]): Child;
}

export interface Instruments {
  counter(name: string, help: string, labelNames?: readonly string[]): Family<Counter>;
  /** `buckets`: upper bounds in ascending order. */
  histogram(name: string, help: string, buckets: readonly number[], labelNames: readonly string[]): Family<Histogram>;
  /** A value without labels, read at each exposition. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void;
  /** Values with labels, read at each exposition; none while they cannot be read. */
  gauges(name: string, help: string, labelNames: readonly string[], read: () => MaybePromise<GaugeValue[]>): void;
  /** All metrics in the order of their creation. */
  text(): Promise<string>;
}

/** Values of the labels, in the order of their names, and the value of the gauge. */
export type GaugeValue = [labelValues: readonly string[], value: number];

type MaybePromise<Result> = Result | Promise<Result>;

interface Metric {
  name: string;
  help: string;
  type: 'counter' | 'histogram' | 'gauge';
  lines(): string[] | Promise<string[]>;
}

export function createInstruments(): Instruments {
  const metrics: Metric[] = [];
  return {
    counter(name, help, labelNames = []) {
      const family = createFamily(labelNames, () => createCounter());
      // A counter without labels is there from the start.
      if (labelNames.length === 0) family.with();
      const lines = () => family.children.map(({ labels, child }) => line(name, labels, child.read()));
      metrics.push({ name, help, type: 'counter', lines });
      return family;
    },
    histogram(name, help, buckets, labelNames) {
      const family = createFamily(labelNames, () => createHistogram(buckets));
      const lines = () => family.children.flatMap(({ labels, child }) => child.lines(name, labels));
      metrics.push({ name, help, type: 'histogram', lines });
      return family;
    },
    gauge(name, help, read) {
      metrics.push({ name, help, type: 'gauge', lines: async () => [line(name, '', await read())] });
    },
    gauges(name, help, labelNames, read) {
      const lines = async () =>
        (await read()).map(([labelValues, value]) => line(name, labelsOf(labelNames, labelValues), value));
      metrics.push({ name, help, type: 'gauge', lines });
    },
    text: async () => (await Promise.all(metrics.map(metricText))).join('\n\n'),
  };
}

interface ListedFamily<Child> extends Family<Child> {
  /** Children in the order of creation. */
  children: { labels: string; child: Child }[];
}

type Branch<Child> = Map<string, Branch<Child> | Child>;

/** One map for each label, so that a look-up builds no key. */
function createFamily<Child extends object>(labelNames: readonly string[], create: () => Child): ListedFamily<Child> {
  const children: ListedFamily<Child>['children'] = [];
  const root: Branch<Child> = new Map();
  let single: Child | undefined;

  function add(labelValues: readonly string[]): Child {
    const labels = labelsOf(labelNames, labelValues);
    const child = create();
    children.push({ labels, child });
    return child;
  }

  return {
    children,
    with(...labelValues) {
      const last = labelValues.length - 1;
      if (last < 0) {
        single ??= add(labelValues);
        return single;
      }
      let branch = root;
      for (let index = 0; index < last; index += 1) {
        const value = labelValues[index] as string;
        let next = branch.get(value) as Branch<Child> | undefined;
        if (!next) {
          next = new Map();
          branch.set(value, next);
        }
        branch = next;
      }
      const value = labelValues[last] as string;
      let child = branch.get(value) as Child | undefined;
      if (!child) {
        child = add(labelValues);
        branch.set(value, child);
      }
      return child;
    },
  };
}

function createCounter(): Counter & { read(): number } {
  let total = 0;
  return {
    add(amount) {
      total += amount;
    },
    read: () => total,
  };
}

function createHistogram(buckets: readonly number[]): Histogram & { lines(name: string, labels: string): string[] } {
  const counts = new Float64Array(buckets.length);
  let sum = 0;
  let count = 0;
  return {
    observe(value) {
      sum += value;
      count += 1;
      for (let index = 0; index < buckets.length; index += 1) {
        if (value > (buckets[index] as number)) continue;
        counts[index] = (counts[index] as number) + 1;
        return;
      }
    },
    lines(name, labels) {
      const rest = labels && `,${labels}`;
      let below = 0;
      const bounded = buckets.map((bound, index) => {
        below += counts[index] as number;
        return line(`${name}_bucket`, `le="${bound}"${rest}`, below);
      });
      return [
        ...bounded,
        line(`${name}_bucket`, `le="+Inf"${rest}`, count),
        line(`${name}_sum`, labels, sum),
        line(`${name}_count`, labels, count),
      ];
    },
  };
}

async function metricText({ name, help, type, lines }: Metric): Promise<string> {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...(await lines())].join('\n');
}

function line(name: string, labels: string, value: number): string {
  return labels === '' ? `${name} ${value}` : `${name}{${labels}} ${value}`;
}

function labelsOf(names: readonly string[], values: readonly string[]): string {
  return names.map((name, index) => `${name}="${escapeValue(values[index] ?? '')}"`).join(',');
}

function escapeValue(value: string): string {
  return value.replace(/\\/g, '\\\\').replace(/\n/g, '\\n').replace(/"/g, '\\"');
}
