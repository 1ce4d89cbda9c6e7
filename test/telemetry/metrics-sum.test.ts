/** Sums of the metrics of several processes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addMetrics, type MetricsSum, metricsText } from '../../src/telemetry/metrics-sum.ts';

const process = (requests: number, inFlight: number, lag: number, writable: number) => `
# HELP requests_total Requests by route.
# TYPE requests_total counter
requests_total{route="a b",model="x} 1"} ${requests}
# HELP seconds Duration.
# TYPE seconds histogram
seconds_bucket{le="+Inf"} ${requests}
seconds_sum ${requests / 2}
seconds_count ${requests}
# HELP in_flight Requests in flight.
# TYPE in_flight gauge
in_flight ${inFlight}
# HELP nodejs_eventloop_lag_seconds Lag.
# TYPE nodejs_eventloop_lag_seconds gauge
nodejs_eventloop_lag_seconds ${lag}
# HELP polygate_store_writable 1 if the store is writable.
# TYPE polygate_store_writable gauge
polygate_store_writable ${writable}`;

test('counters, histograms and gauges are added; of some gauges the worst counts', () => {
  const sum: MetricsSum = new Map();
  addMetrics(sum, process(3, 1, 0.5, 1));
  addMetrics(sum, process(4, 2, 0.2, 0));
  assert.equal(
    metricsText(sum).replaceAll('\n\n', '\n'),
    `# HELP requests_total Requests by route.
# TYPE requests_total counter
requests_total{route="a b",model="x} 1"} 7
# HELP seconds Duration.
# TYPE seconds histogram
seconds_bucket{le="+Inf"} 7
seconds_sum 3.5
seconds_count 7
# HELP in_flight Requests in flight.
# TYPE in_flight gauge
in_flight 3
# HELP nodejs_eventloop_lag_seconds Lag.
# TYPE nodejs_eventloop_lag_seconds gauge
nodejs_eventloop_lag_seconds 0.5
# HELP polygate_store_writable 1 if the store is writable.
# TYPE polygate_store_writable gauge
polygate_store_writable 0
`,
  );
});

test('of a process that ended only totals remain', () => {
  const sum: MetricsSum = new Map();
  addMetrics(sum, process(3, 1, 0.5, 1), { totalsOnly: true });
  assert.deepEqual([...sum.keys()], ['requests_total', 'seconds']);
});
