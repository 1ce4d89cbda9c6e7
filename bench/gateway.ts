/** Benchmark gateway: its own process, in front of the benchmark upstream (port in the first argument). */

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { parseConfig } from '../src/config/load.ts';
import { startGateway } from '../src/gateway/gateway.ts';
import { openKeyStore } from '../src/keys/store.ts';
import { providerTypes } from '../src/providers/index.ts';
import { openStore } from '../src/store/open.ts';

const folder = mkdtempSync(join(tmpdir(), 'polygate-bench-'));
const yaml = `
data: ${folder}
keys: [{ name: bench, key: sk-bench-0123456789 }]
providers:
  up: { type: openrouter, base_url: "http://127.0.0.1:${process.argv[2]}/v1", api_key: none, models: [{ id: m }] }
`;
const config = parseConfig(yaml, { environment: {}, known: providerTypes, port: 0 });
const store = await openStore({ data: folder, role: 'owner' });
const keys = await openKeyStore({ store, folder, configured: config.keys });
const log = pino({ level: 'silent' });
const gateway = await startGateway({ config, keys, store, log, version: 'bench' });
process.send?.(gateway.address.port);
process.on('SIGINT', () => process.exit(0));
