/** Kills of gateways that run as programs, beside clients that go on until theirs is gone. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Program, program, type Running } from '../cli/program.ts';

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
