/** Sum of the metrics of several processes, in the Prometheus text format. */

interface SummedMetric {
  help: string;
  type: string;
  /** Values by name and labels. */
  values: Map<string, number>;
}

/** Metrics by name. */
export type MetricsSum = Map<string, SummedMetric>;

/** Gauges of which not the sum says something about all processes. */
const COMBINED = new Map<string, (one: number, other: number) => number>([
  ['polygate_store_writable', Math.min],
  ['polygate_build_info', Math.max],
  ['polygate_provider_ready', Math.min],
  ['polygate_endpoint_cooldown', Math.max],
  ['process_start_time_seconds', Math.min],
  ['process_max_fds', Math.min],
  ['nodejs_version_info', Math.max],
]);
const EVENT_LOOP_PREFIX = 'nodejs_eventloop_lag';

/** The lines of one metric follow its `HELP` and `TYPE`. */
const HEAD_PATTERN = /^# (HELP|TYPE) (\S+) (.*)$/;

/** Adds the metrics of a process. With `totalsOnly` those that go up and down are left out, as of a process that ended. */
export function addMetrics(sum: MetricsSum, text: string, { totalsOnly = false } = {}): void {
  let name = '';
  let help = '';
  let metric: SummedMetric | undefined;
  for (const line of text.split('\n')) {
    const [, head, headName = '', rest = ''] = HEAD_PATTERN.exec(line) ?? [];
    if (head === 'HELP') [name, help, metric] = [headName, rest, undefined];
    else if (head === 'TYPE') metric = totalsOnly && rest === 'gauge' ? undefined : metricOf(sum, name, help, rest);
    else if (metric) addValue(metric, name, line);
  }
}

/** Sum in the Prometheus text format. */
export function metricsText(sum: MetricsSum): string {
  const texts = [...sum].map(([name, { help, type, values }]) =>
    [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...[...values].map(([key, value]) => `${key} ${value}`)].join(
      '\n',
    ),
  );
  return `${texts.join('\n\n')}\n`;
}

function metricOf(sum: MetricsSum, name: string, help: string, type: string): SummedMetric {
  const known = sum.get(name);
  if (known) return known;
  const created: SummedMetric = { help, type, values: new Map() };
  sum.set(name, created);
  return created;
}

function addValue({ type, values }: SummedMetric, name: string, line: string): void {
  // Labels may hold spaces, the value cannot.
  const end = line.lastIndexOf(' ');
  if (end <= 0) return;
  const key = line.slice(0, end);
  const value = Number(line.slice(end + 1));
  const known = values.get(key);
  const combine = type === 'gauge' ? combinationOf(name) : add;
  values.set(key, known === undefined ? value : combine(known, value));
}

function combinationOf(name: string): (one: number, other: number) => number {
  return COMBINED.get(name) ?? (name.startsWith(EVENT_LOOP_PREFIX) ? Math.max : add);
}

function add(one: number, other: number): number {
  return one + other;
}
