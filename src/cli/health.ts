/** `polygate health`: asks the running gateway whether it is ready, for health checks of images without other programs. */

import { localUrl } from '../config/host.ts';
import { readListenAddress } from '../config/listen-address.ts';
import { findConfig } from '../config/location.ts';
import { formatDuration } from '../config/units.ts';
import { withoutEnd } from '../core/text.ts';
import type { ConfigOptions } from './source.ts';
import { unreachedReason } from './unreached.ts';

export interface HealthOptions extends ConfigOptions {
  port?: number;
  /** Base URL of the gateway. */
  url?: string;
  /** Milliseconds without a word of it after which it counts as not ready. */
  timeout: number;
}

const MAX_REASON_BYTES = 1000;

/** Sets exit code 1 where the gateway is not ready. */
export async function checkHealth({ config, port, url, timeout }: HealthOptions): Promise<void> {
  const base = url ?? ownUrl(config, port);
  if (!/^https?:$/.test(URL.parse(base)?.protocol ?? ''))
    throw new Error(`--url is the address of the gateway, such as http://127.0.0.1:8080; it is ${base}`);
  const { problem } = await askReadiness(base, timeout);
  if (problem === undefined) {
    process.stdout.write('ready\n');
    return;
  }
  process.stderr.write(`The gateway at ${base} is not ready: ${problem}\n`);
  process.exitCode = 1;
}

function ownUrl(config: string | undefined, port: number | undefined): string {
  const address = readListenAddress({ ...findConfig(config), environment: process.env });
  const own = { ...address, ...(port !== undefined && { port }) };
  if (own.port === 0) throw new Error('The port of the gateway is chosen by the system; name its address with --url.');
  return localUrl(own);
}

export interface Readiness {
  /** Whether there was an answer of any kind. */
  isReached: boolean;
  /** The reason if it is not ready. */
  problem?: string;
}

/** Asks the gateway with this base URL whether it is ready. */
export function askReadiness(base: string, timeout: number): Promise<Readiness> {
  const url = new URL('readyz', `${withoutEnd(base, '/')}/`);
  // An import would read all exports of the module, and some of them load a second HTTP client.
  const { get } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
  return new Promise((resolve) => {
    const request = get(url, { agent: false, timeout }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text = (text + part).slice(0, MAX_REASON_BYTES);
      });
      response.on('end', () => resolve({ isReached: true, problem: reasonIn(text, response.statusCode) }));
      response.on('error', (error) => resolve({ isReached: true, problem: error.message }));
    });
    request.on('timeout', () => request.destroy(new Error(`no answer within ${formatDuration(timeout)}`)));
    request.on('error', (error) => resolve({ isReached: false, problem: unreachedReason(error) }));
  });
}

function reasonIn(text: string, status: number | undefined): string | undefined {
  if (status === 200) return undefined;
  try {
    return String(JSON.parse(text).reason);
  } catch {
    return `HTTP status ${status}`;
  }
}
