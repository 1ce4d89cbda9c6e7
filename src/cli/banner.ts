/** Start banner of `polygate serve`, on standard error: addresses, first key, providers and an example request. */

import { localUrl } from '../config/host.ts';
import type { Config } from '../config/resolved.ts';
import { version } from '../core/version.ts';
import type { RunningGateway } from '../gateway/gateway.ts';

type ProviderState = ReturnType<RunningGateway['providers']>[number];

const STORED =
  'Responses of /v1/responses are stored, encrypted, unless a client sets store to false; responses.store: false turns it off.';
const EXAMPLE_PROVIDER = 'sandbox';
const EXAMPLE_MODEL = 'sandbox/echo';

export interface BannerOptions {
  gateway: RunningGateway;
  config: Config;
  /** The key that was just created, shown only once. */
  newKey: string | undefined;
  /** One-time link to the dashboard, shown with that key. */
  link: string | undefined;
  /** Address of the dashboard, shown where there is no link. */
  hint: string | undefined;
  /** Reason for which requests are refused, shown in place of a key. */
  warning: string | undefined;
  /** Warnings of settings that name unknown models or keys, or wait for a variable. */
  unknown: readonly string[];
  /** Process ids of the workers. */
  workers: readonly number[];
}

export function banner(options: BannerOptions): string {
  const { gateway, config, newKey, link, hint, warning, unknown, workers } = options;
  const local = localUrl(gateway.address);
  const url = config.server.publicUrl ?? local;
  const states = gateway.providers();
  return [
    `Polygate ${version} listens on ${local}${url === local ? '' : ` and is reached at ${url}`}`,
    ...(gateway.admin ? [`The admin API listens on ${localUrl(gateway.admin)}`] : []),
    ...(workers.length > 0 ? [`It has ${workers.length} workers: processes ${workers.join(', ')}`] : []),
    newKey === undefined
      ? warning === undefined
        ? ''
        : `\n${warning}\n`
      : `\nYour API key, shown once and stored only as a hash:\n  ${newKey}\n`,
    ...(link === undefined ? [] : [`The dashboard, for 15 minutes and once:\n  ${link}\n`]),
    ...(link === undefined && hint !== undefined ? [hint] : []),
    ...(config.responses.store ? [STORED] : []),
    ...providerLines(states),
    ...unknown,
    ...(states.some(({ id }) => id === EXAMPLE_PROVIDER) ? tryLines(url, newKey) : []),
    '',
    'Ctrl-C stops it.',
    '',
  ].join('\n');
}

/** One line for all ready providers with the number that wait for a key, and one for each unreachable provider. */
function providerLines(states: ProviderState[]): string[] {
  const ready = states
    .filter(({ state }) => state === 'ready')
    .map(({ id, models }) => `${id} (${modelCount(models)})`);
  const waiting = states.filter(({ state }) => state === 'waiting').length;
  const more = waiting === 0 ? '' : `; ${waiting} more wait for a key: polygate providers`;
  return [
    `Providers: ${ready.join(', ') || 'none is ready'}${more}`,
    ...states
      .filter(({ state }) => state === 'unreachable')
      .map(({ id, problem }) => `Warning: ${id} is not reached: ${problem}`),
  ];
}

function modelCount(models: number): string {
  if (models === 0) return 'models not known yet';
  return models === 1 ? '1 model' : `${models} models`;
}

function tryLines(url: string, newKey: string | undefined): string[] {
  const key = newKey ?? '$POLYGATE_KEY';
  const message = { role: 'user', content: 'Hello' };
  return [
    '',
    newKey === undefined ? 'Try it, with your key in POLYGATE_KEY:' : 'Try it:',
    curl(`${url}/v1/chat/completions`, [`Authorization: Bearer ${key}`], { model: EXAMPLE_MODEL, messages: [message] }),
  ];
}

/** Headers are in double quotes, so that the shell expands variables. */
function curl(url: string, headers: string[], body: object): string {
  const flags = [...headers, 'Content-Type: application/json'].map((header) => `-H "${header}"`).join(' ');
  return `  curl ${url} ${flags} -d '${JSON.stringify(body)}'`;
}
