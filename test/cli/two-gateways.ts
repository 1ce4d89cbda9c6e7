/** Commands beside gateways that run as programs: one on SQLite, two that share a PostgreSQL database. */

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { post } from '../gateway/harness.ts';
import { providePostgres } from '../store/postgres-server.ts';
import { type Program, program, type Running } from './program.ts';

export const KEY = 'sk-test-gateway-key-0123456789';
export const ENGINES = ['sqlite', 'postgres'] as const;

export interface Gateways extends Program {
  /** The gateways, each with its address and its output. */
  gateways: { url: string; output: Running }[];
}

/** The key `ci` is that of the tests. Commands run in the folder of the first gateway. */
export async function startGateways(context: TestContext, engine: (typeof ENGINES)[number]): Promise<Gateways> {
  const database = engine === 'postgres' ? await providePostgres() : undefined;
  const places = [program(context), ...(database ? [program(context)] : [])] as [Program, ...Program[]];
  if (database) context.after(database.close);
  const shared = database && `data: ${database.url}\nencryption: { key: "${randomBytes(32).toString('base64')}" }\n`;
  const gateways: Gateways['gateways'] = [];
  for (const { folder, start } of places) {
    writeFileSync(
      join(folder, 'polygate.yaml'),
      `${shared ?? ''}keys: [{ name: ci, key: ${KEY} }]\nserver: { port: 0 }\n`,
    );
    const output = start(['serve']);
    const [, url = ''] = await output.shows(/listens on (http:\S+)/);
    gateways.push({ url, output });
  }
  return { ...places[0], gateways };
}

/** Asks for a short answer and waits for its end. */
export async function ask(url: string, model = 'sandbox/echo'): Promise<void> {
  const body = { model, messages: [{ role: 'user', content: 'hi' }] };
  await (await post(`${url}/v1/chat/completions`, body, { authorization: `Bearer ${KEY}` })).text();
}
