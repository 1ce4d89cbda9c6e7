/** `polygate route`: prints the routing decision for a request without sending it. */

import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { loadConfig } from '../config/load.ts';
import { GatewayError } from '../core/errors.ts';
import { readBody } from '../core/json/body.ts';
import { read } from '../core/json/json.ts';
import { version } from '../core/version.ts';
import { createProviderRegistry } from '../gateway/provider-registry.ts';
import { type DryPlan, dryPlan } from '../inference/dry-run.ts';
import { protocolOf } from '../protocols/index.ts';
import { decideRouting, type RoutingDecision } from '../routing/decision.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import { POLICY_HEADER } from '../routing/request-policy.ts';
import { createRoutingState } from '../routing/state.ts';
import { traceOf } from '../routing/trace.ts';
import { createUpstreamClient } from '../transport/upstream-client.ts';
import { type ConfigOptions, configSource } from './source.ts';
import { printJson, printTable } from './table.ts';

export interface RouteCommandOptions extends ConfigOptions {
  /** File with the body of a request. */
  request?: string;
  protocol: string;
  /** Value of the policy header. */
  provider?: string;
  json?: boolean;
}

const HEADINGS = ['', 'ENDPOINT', 'MODEL', 'USD/M', 'PATH', 'WHY'];

/** Does not know the cooldowns and statistics of a running gateway: all endpoints count as healthy. */
export async function showRoute(model: string, options: RouteCommandOptions): Promise<void> {
  const { server, providers, routing } = loadConfig(configSource(options));
  const call = await createCall(model, options);
  const upstream = createUpstreamClient(server.deadlines);
  const log = pino({ level: 'silent' });
  const models = createProviderRegistry(providers, {
    upstream,
    log,
    userAgent: `polygate/${version}`,
    routes: routing,
  });
  try {
    const state = createRoutingState({ cooldown: () => routing.cooldown });
    const route = await decideRouting(call, model, { models, state, allows: () => true });
    const plans = await Promise.all(route.candidates.map((candidate) => dryPlan(call, candidate, route.policy)));
    if (options.json) printJson(describeDecision(route, plans));
    else printRoute(route, plans);
  } finally {
    models.close();
    await upstream.close();
  }
}

async function createCall(
  model: string,
  { request, protocol: id, provider }: RouteCommandOptions,
): Promise<InferenceCall> {
  const protocol = protocolOf(id);
  const { complete: operation } = protocol.operations;
  const bytes = request === undefined ? Buffer.from(JSON.stringify(operation.example)) : readJsonFile(request);
  const body = await readBody(bytes, { names: operation.names });
  if (operation.requestModel.required) body.model = model;
  operation.checkLimits(body);
  const stream = body.stream === true;
  const headers = provider === undefined ? {} : { [POLICY_HEADER]: provider };
  return { requestId: '', owner: '', protocol, operation, stream, array: false, headers, bytes, body };
}

function readJsonFile(file: string): Buffer {
  try {
    const bytes = readFileSync(file);
    read(bytes);
    return bytes;
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? 'is not JSON' : 'cannot be read';
    throw new GatewayError('invalid_request', `${file}: ${reason}`, { cause });
  }
}

function describeDecision(route: RoutingDecision, plans: DryPlan[]): object {
  const { attempts, candidates, ...trace } = traceOf(route, []);
  return { ...trace, candidates: candidates.map((candidate, index) => ({ ...candidate, ...plans[index] })) };
}

function printRoute(route: RoutingDecision, plans: DryPlan[]): void {
  const { candidates } = traceOf(route, []);
  printTable(
    HEADINGS,
    candidates.map(({ endpoint, model, credential, price, left_out: leftOut }, index) => {
      const { path = '', dropped = [], unable } = plans[index] ?? {};
      const reason = leftOut ?? unable ?? (dropped.length > 0 ? `drops ${dropped.join(', ')}` : '');
      const position = leftOut === undefined ? String(index + 1) : '-';
      const name = credential === undefined ? endpoint : `${endpoint} (key ${credential})`;
      return [position, name, model, price === undefined ? '' : String(price), path, reason];
    }),
  );
}
