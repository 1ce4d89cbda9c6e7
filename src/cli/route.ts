/** `polygate route`: prints the routing decision for a request without sending it. */

import { readFileSync } from 'node:fs';
import { loadConfig } from '../config/load.ts';
import { GatewayError } from '../core/errors.ts';
import { read } from '../core/json/json.ts';
import { type Explanation, explain } from '../inference/explain.ts';
import { protocolOf } from '../protocols/index.ts';
import { createRoutingState } from '../routing/state.ts';
import { openProviders } from './discovery.ts';
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
  const config = loadConfig(configSource(options));
  const { routing, responses } = config;
  const { request, protocol, provider: policy } = options;
  const body = request === undefined ? undefined : readJsonFile(request);
  const { models, close } = openProviders(config);
  try {
    const state = createRoutingState({ cooldown: () => routing.cooldown });
    const explanation = await explain(
      { protocol: protocolOf(protocol), model, body, policy },
      { models, state, allows: () => true, refusesUnsupportedSearch: responses.hostedTools === 'refuse' },
    );
    if (options.json) printJson(explanation);
    else printExplanation(explanation);
  } finally {
    await close();
  }
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

function printExplanation({ candidates }: Explanation): void {
  let position = 0;
  const rows = candidates.map((candidate) => {
    const { endpoint, model, credential, price, left_out: leftOut, path = '', dropped = [], unable } = candidate;
    const reason = leftOut ?? unable ?? (dropped.length > 0 ? `drops ${dropped.join(', ')}` : '');
    const name = credential === undefined ? endpoint : `${endpoint} (key ${credential})`;
    const place = leftOut === undefined ? String(++position) : '-';
    return [place, name, model, price === undefined ? '' : String(price), path, reason];
  });
  printTable(HEADINGS, rows);
}
