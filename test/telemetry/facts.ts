/** Calls as telemetry hears of them. */

import type { CallFacts, RequestFacts, RequestHead } from '../../src/telemetry/observer.ts';

export const HEAD: RequestHead = { requestId: 'req_1', method: 'POST' };

export const CALL: CallFacts = {
  protocol: 'chat',
  operation: 'chat',
  stream: true,
  model: 'google/m',
  status: 'complete',
  attempts: [
    {
      provider: 'mistral',
      model: 'google/m',
      upstreamModel: 'm-1',
      status: 503,
      error: 'overloaded',
      milliseconds: 40,
    },
    { provider: 'google', model: 'google/m', upstreamModel: 'm-2', status: 200, firstByte: 200, milliseconds: 1200 },
  ],
  usage: { input: 100, output: 11, cached: 60, cacheWrite: 7, reasoning: 5 },
  cost: 1_250_000_000n,
  finish: 'STOP',
  responseModel: 'm-2-0001',
  milliseconds: 1240,
  firstByte: 240,
};

export const END: RequestFacts = {
  route: 'inference.complete',
  protocol: 'chat',
  status: 200,
  outcome: 'complete',
  milliseconds: 1250,
};
