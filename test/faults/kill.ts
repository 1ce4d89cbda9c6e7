/** Kills of gateways that run as programs, beside clients that go on until theirs is gone. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Store } from '../../src/store/store.ts';
import { type Program, program, type Running } from '../cli/program.ts';
import { KEY } from '../gateway/harness.ts';
import { startResponsesUpstream } from '../gateway/responses-upstream.ts';
import { providePostgres } from '../store/postgres-server.ts';

interface GatewayProgram extends Pick<Program, 'folder'> {
  /** Resolves once it listens. */
  start(): Promise<Running & { url: string }>;
}

/** A gateway with the file `polygate.yaml` of its folder; the test ends what it started, however it ends itself. */
export function gatewayProgram(context: TestContext): GatewayProgram {
  const { folder, start } = program(context);
  return {
    folder,
    async start() {
      const gateway = start(['serve', '--port', '0']);
      const [, url = ''] = await gateway.shows(/listens on (http:\S+)/);
      return { ...gateway, url };
    },
  };
}

/** A gateway on a store of its own, with one upstream that speaks Responses; `settings`: more lines of its file. */
export async function responsesProgram(
  context: TestContext,
  engine: Store['engine'],
  { prefix, settings = '' }: { prefix: string; settings?: string },
) {
  const { folder, start } = gatewayProgram(context);
  const upstream = await startResponsesUpstream({ keeps: false, prefix });
  context.after(upstream.close);
  const database = engine === 'postgres' ? await providePostgres() : undefined;
  if (database) context.after(database.close);
  writeFileSync(
    join(folder, 'polygate.yaml'),
    `data: ${database?.url ?? join(folder, 'data')}
keys: [{ name: test, key: ${KEY} }]
providers:
  plain: { type: open-responses, base_url: "${upstream.url}/v1", models: [{ id: m }] }
${settings}`,
  );
  return { start, upstream };
}

interface Load {
  context: TestContext;
  /** Each ends when the gateway is gone. */
  clients: readonly Promise<void>[];
  isEnough(): boolean;
}

/** Kills the gateway as soon as its clients have had enough of it. */
export async function killAmid(gateway: Running, { context, clients, isEnough }: Load): Promise<void> {
  async function enough(): Promise<true> {
    while (!isEnough()) await pause(1, undefined, { signal: context.signal });
    return true;
  }
  const isReached = await Promise.race([enough(), Promise.all(clients).then(() => false)]);
  assert.ok(isReached, 'the gateway was gone before it was killed');
  gateway.signal('SIGKILL');
  await gateway.ended;
  await Promise.all(clients);
}
