/** Metrics of model calls, by OpenTelemetry's conventions for generative AI. */

import type { Attributes, Meter } from '@opentelemetry/api';
import { providerName } from './conventions.ts';
import { createLabelLimiter } from './label-limiter.ts';
import type { AttemptFacts, CallFacts, RequestObserver } from './observer.ts';

/** Different models in labels; the rest share one label. */
const MAX_MODEL_LABELS = 200;
/** Histogram boundaries of the conventions. */
const TOKEN_BUCKETS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864];
const DURATION_BUCKETS_S = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const FIRST_TOKEN_BUCKETS_S = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const PER_TOKEN_BUCKETS_S = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];

export function createMeterObserver(meter: Meter): RequestObserver {
  const histogram = (name: string, unit: string, boundaries: number[]) =>
    meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries: boundaries } });
  const tokens = histogram('gen_ai.client.token.usage', '{token}', TOKEN_BUCKETS);
  const duration = histogram('gen_ai.server.request.duration', 's', DURATION_BUCKETS_S);
  const firstToken = histogram('gen_ai.server.time_to_first_token', 's', FIRST_TOKEN_BUCKETS_S);
  const perToken = histogram('gen_ai.server.time_per_output_token', 's', PER_TOKEN_BUCKETS_S);
  const bounded = createLabelLimiter(MAX_MODEL_LABELS);

  function record(call: CallFacts, last: AttemptFacts): void {
    const { usage, firstByte, milliseconds, error } = call;
    const attributes: Attributes = {
      'gen_ai.operation.name': call.operation,
      'gen_ai.provider.name': providerName(last.provider),
      'gen_ai.request.model': bounded(last.upstreamModel),
      ...(call.responseModel !== undefined && { 'gen_ai.response.model': bounded(call.responseModel) }),
    };
    duration.record(milliseconds / 1000, error === undefined ? attributes : { ...attributes, 'error.type': error });
    if (usage?.input !== undefined) tokens.record(usage.input, { ...attributes, 'gen_ai.token.type': 'input' });
    if (usage?.output !== undefined) tokens.record(usage.output, { ...attributes, 'gen_ai.token.type': 'output' });
    if (firstByte === undefined || !call.stream || error !== undefined) return;
    firstToken.record(firstByte / 1000, attributes);
    const rest = (usage?.output ?? 0) - 1;
    if (rest > 0) perToken.record((milliseconds - firstByte) / 1000 / rest, attributes);
  }

  return {
    begin: () => ({
      attemptStarting: () => ({}),
      callEnded(call) {
        const last = call.attempts.at(-1);
        if (last) record(call, last);
      },
      requestEnded() {},
    }),
  };
}
