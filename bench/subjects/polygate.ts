/** Polygate as a subject: the program of the npm package as it runs in production, with a configuration file, a log and a store on disk. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { delay, startChild, temporaryFolder } from '../host/children.ts';
import { requestBytes } from '../load/connection.ts';
import { bundledProgram } from './program.ts';
import { KEY, LIMITED_KEY, type Subject, type Upstreams } from './subject.ts';

const ROOT = join(import.meta.dirname, '../..');
const SLOW_US = 'BENCH_SLOW_US';

export interface PolygateOptions {
  name: string;
  upstreams: Upstreams;
  durability?: 'strict' | 'batched';
  trace?: 'all' | 'none';
  /** URL of a PostgreSQL database instead of the embedded store. */
  database?: string;
  /** Connections of the loopback address are not counted, of which one client may otherwise have half of all. */
  trustsLoopback?: boolean;
  /** The probe is absent where the start is measured. */
  withProbe?: boolean;
  /** Another checkout of the project, to compare with. */
  root?: string;
  /** More options of `serve`. */
  options?: readonly string[];
  nodeOptions?: readonly string[];
  /** More modules that are loaded first, which answer questions of their own. */
  preloads?: readonly string[];
}

/** One for all, because gateways of one database share their secrets. */
const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString('base64');

export interface Polygate extends Subject {
  /** Changes settings while it runs. */
  configure(changed: Pick<PolygateOptions, 'trace'>): Promise<void>;
}

const RELOAD_TIMEOUT_MS = 10_000;

export async function startPolygate(settings: PolygateOptions): Promise<Polygate> {
  const { name, withProbe = true, root = ROOT, options = [], nodeOptions = [], preloads: more = [] } = settings;
  const folder = temporaryFolder();
  const file = join(folder, 'polygate.yaml');
  writeFileSync(file, configuration(folder, settings));
  const own = [...(withProbe ? ['probe'] : []), ...(process.env[SLOW_US] ? ['slow'] : [])];
  const files = own.map((program) => join(import.meta.dirname, `../programs/${program}.ts`));
  const preloads = [...files, ...more].flatMap((file) => ['--import', pathToFileURL(file).href]);
  const args = [
    ...nodeOptions,
    ...preloads,
    await bundledProgram(root),
    'serve',
    '--config',
    file,
    '--port',
    '0',
    ...options,
  ];
  const began = performance.now();
  const child = startChild(process.execPath, args, {
    folder,
    withChannel: withProbe,
    env: Object.fromEntries(
      ['NODE_COMPILE_CACHE', SLOW_US].flatMap((variable) => {
        const value = process.env[variable];
        return value === undefined ? [] : [[variable, value]];
      }),
    ),
  });
  const [, url = ''] = await child.output(/listens on (http:\S+)\n/);
  const readyAfter = performance.now() - began;
  const port = Number(new URL(url).port);
  return {
    ...{ name, pid: child.pid, readyAfter, answered: 0 },
    target({ path, model, body, isLimited = false }) {
      const headers = { authorization: `Bearer ${isLimited ? LIMITED_KEY : KEY}`, 'anthropic-version': '2023-06-01' };
      return { port, bytes: requestBytes(path, { headers, body: body(model) }) };
    },
    ...(withProbe && { probe: (question: string) => child.ask(question) }),
    async configure(changed) {
      const sign = `configured-${Math.random().toString(36).slice(2)}`;
      writeFileSync(file, configuration(folder, { ...settings, ...changed }, sign));
      process.kill(child.pid, 'SIGHUP');
      const signal = AbortSignal.timeout(RELOAD_TIMEOUT_MS);
      const headers = { authorization: `Bearer ${KEY}` };
      while (!(await (await fetch(`${url}/v1/models`, { headers, signal })).text()).includes(sign)) await delay(20);
    },
    stop: () => child.stop(),
  };
}

/** `sign` is a model in its list. */
function configuration(folder: string, settings: PolygateOptions, sign = 'configured'): string {
  const { upstreams, durability = 'strict', trace = 'all', database, trustsLoopback = false } = settings;
  const provider = (type: string, address: string) =>
    `{ type: ${type}, base_url: "${address}", api_key: none, models: [{ id: m }] }`;
  return `
data: ${JSON.stringify(database ?? join(folder, 'data'))}
encryption: { key: ${ENCRYPTION_KEY} }
server: { connections_per_address: 20000${trustsLoopback ? ', trusted_proxies: [127.0.0.1]' : ''} }
keys:
  - { name: bench, key: ${KEY} }
  - name: limited
    key: ${LIMITED_KEY}
    limits: { requests_per_minute: 100000000, tokens_per_minute: 1000000000000, concurrent_requests: 1000 }
    budgets: { day: "100000", total: "900000" }
usage: { durability: ${durability}, trace: ${trace} }
providers:
  instant: ${provider('openai-compatible', `${upstreams.instant}/instant/v1`)}
  sign: { type: openai-compatible, base_url: "${upstreams.instant}/instant/v1", api_key: none, models: [{ id: ${sign} }] }
  priced:
    type: openai-compatible
    base_url: "${upstreams.instant}/instant/v1"
    api_key: none
    models: [{ id: m, max_completion_tokens: 1000, pricing: { prompt: "0.0000001", completion: "0.0000004" } }]
  patched: ${provider('openai', `${upstreams.instant}/instant/v1`)}
  messages: ${provider('anthropic', `${upstreams.instant}/instant`)}
  large: ${provider('openai-compatible', `${upstreams.other}/large/v1`)}
  frames: ${provider('openai-compatible', `${upstreams.other}/frames/v1`)}
  responses: ${provider('open-responses', `${upstreams.other}/frames/v1`)}
  slow: ${provider('openai-compatible', `${upstreams.other}/slow/v1`)}
`;
}
