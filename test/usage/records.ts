/** Usage records for tests. */

import type { Completion, Intent } from '../../src/usage/record.ts';

export const NOON = Date.UTC(2026, 10, 18, 12);

/** Intents by their facts: a recorder ends a request by the intent with which it began. */
const intents = new Map<string, Intent>();

export function intent(id: string, more: Partial<Intent> = {}): Intent {
  const facts = JSON.stringify({ id, ...more }, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
  const known = intents.get(facts) ?? newIntent(id, more);
  intents.set(facts, known);
  return known;
}

function newIntent(id: string, more: Partial<Intent>): Intent {
  return {
    id,
    startedAt: NOON,
    keyId: 'key-1',
    tags: '',
    model: 'openai/gpt-5',
    endpoint: { provider: 'openai', model: 'gpt-5' },
    protocolIn: 'chat',
    protocolOut: 'chat',
    stream: true,
    estimate: { input: 100, cost: 100n },
    ...more,
  };
}

export function completion(more: Partial<Completion> = {}): Completion {
  return {
    endpoint: { provider: 'openai', model: 'gpt-5' },
    protocolOut: 'chat',
    status: 'completed',
    finish: 'stop',
    usage: { input: 120, output: 30, cached: 20 },
    cost: 1_500_000_000n,
    attempts: 1,
    firstByte: 40,
    total: 90,
    upstreamId: 'chatcmpl-1',
    ...more,
  };
}
