/** Handlers of the admin API for routing: explanations, and health of endpoints. */

import { GatewayError } from '../../core/errors.ts';
import { assertValid } from '../../core/json/check.ts';
import type { Json } from '../../core/json/json.ts';
import { explain } from '../../inference/explain.ts';
import { protocolOf } from '../../protocols/index.ts';
import type { AttemptHistory, ToldLimit } from '../../routing/attempt-log.ts';
import { type EndpointHealth, endpointHealth } from '../../routing/endpoint-health.ts';
import { createRoutingState } from '../../routing/state.ts';
import { iso } from './key-object.ts';
import type { AdminOptions, AdminRequest } from './request.ts';
import type { AdminHandlers } from './routes.ts';
import { type Question, question } from './schema.ts';

type RoutingHandlers = Pick<AdminHandlers, 'Explanation' | 'EndpointHealth'>;

export function createRoutingHandlers({ models, routing, refusesHostedTools, clock }: AdminOptions): RoutingHandlers {
  async function explanation({ body }: AdminRequest): Promise<Json> {
    assertValid(question, body);
    const { protocol: id, body: request, policy, ideal = false, model = request?.model } = body as Question;
    if (typeof model !== 'string') {
      throw new GatewayError('invalid_request', 'model must be a text, here or in the body.', { param: 'model' });
    }
    const asked = {
      protocol: protocolOf(id),
      model,
      ...(request && { body: Buffer.from(JSON.stringify(request)) }),
      ...(policy && { policy: JSON.stringify(policy) }),
    };
    const state = ideal ? createRoutingState({ cooldown: () => 0 }) : routing;
    const data = await explain(asked, {
      models: models(),
      state,
      allows: () => true,
      refusesHostedTools: refusesHostedTools(),
      policyName: 'policy',
    });
    return { data: data as unknown as Json };
  }

  /** The id of a credential is derived from it: its number is shown instead. */
  function encodeHealth({ id, cooldownMs, streamed, whole, history, limits, ...state }: EndpointHealth): Json {
    const [endpoint = '', credentialId] = splitAtLast(id, '#');
    const [provider = ''] = endpoint.split('/', 1);
    const credentials = models().providers.get(provider)?.credentials;
    const credential = credentials?.find(credentialId ?? '');
    const rest = credential?.cooldown() ?? 0;
    return {
      endpoint,
      credential: credential?.number ?? null,
      credentials: credentials?.all().length ?? null,
      ...state,
      ...(rest > 0 && { credential_cooldown_ms: Math.ceil(rest) }),
      ...(cooldownMs !== undefined && { cooldown_ms: cooldownMs }),
      ...(streamed && { streamed: encodeTimings(streamed) }),
      ...(whole && { whole: encodeTimings(whole) }),
      ...(history && { history: encodeHistory(history, clock.now()) }),
      limits: limits.map((limit) => encodeLimit(limit, clock.now())),
    };
  }

  async function health(): Promise<Json> {
    return { data: endpointHealth(routing).map(encodeHealth) };
  }

  return { Explanation: explanation, EndpointHealth: health };
}

function encodeTimings({ firstByte, throughput }: NonNullable<EndpointHealth['whole']>): Json {
  return { first_byte_seconds: firstByte, ...(throughput && { tokens_per_second: throughput }) };
}

function encodeHistory(history: AttemptHistory, now: number): Json {
  const { lastFiveMinutes, lastHour, lastDay, halfHours, lastFailures } = history;
  return {
    last_5_minutes: lastFiveMinutes,
    last_hour: lastHour,
    last_day: lastDay,
    half_hours: halfHours,
    last_failures: lastFailures.map(({ code, millisecondsAgo }) => ({ code, at: iso(now - millisecondsAgo) })),
  } as unknown as Json;
}

function encodeLimit({ kind, limit, remaining, reset, millisecondsAgo }: ToldLimit, now: number): Json {
  const told = { limit: limit ?? null, remaining: remaining ?? null, reset: reset ?? null };
  return { kind: kind.replace('-', '_'), ...told, told_at: iso(now - millisecondsAgo) };
}

/** Parts before and behind the last mark. */
export function splitAtLast(text: string, mark: string): string[] {
  const at = text.lastIndexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}
