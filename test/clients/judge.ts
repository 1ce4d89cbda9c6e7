/** One table of tests for every version of an SDK. */

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { inspect } from 'node:util';

export type Cases<Client> = Record<string, (client: Client, context: TestContext) => Promise<void>>;

/** `connect` makes the client of one version when its tests run, not before. */
export function judge<Client>(connect: Record<string, () => Client>, cases: Cases<Client>): void {
  for (const [version, client] of Object.entries(connect)) {
    describe(version, () => {
      for (const [name, run] of Object.entries(cases)) test(name, (context) => run(client(), context));
    });
  }
}

export interface CountingFetch {
  fetch: typeof fetch;
  /** When each request was sent, in milliseconds. */
  sent: number[];
}

/** What an SDK sends with, counted: retries are invisible otherwise. */
export function countingFetch(): CountingFetch {
  const sent: number[] = [];
  return {
    sent,
    fetch: (input, init) => {
      sent.push(performance.now());
      return fetch(input, init);
    },
  };
}

/** Concatenates what a stream says, piece by piece. */
export async function collect<Item>(
  stream: AsyncIterable<Item>,
  text: (item: Item) => string | null | undefined,
): Promise<string> {
  let all = '';
  for await (const item of stream) all += text(item) ?? '';
  return all;
}

/** Four tokens in the sandbox's count. */
export const GREETING = 'Hello,  world!';
/** Text that breaks where bytes are taken for characters. */
export const ODD = 'grüß dich 🦊 "quoted" \\ back\u2028line 中文';
/** A PNG's first bytes; nothing decodes them. */
export const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]).toString('base64');
export const PDF = Buffer.from('%PDF-1.7\n%%EOF\n').toString('base64');

export const WEATHER = {
  type: 'object',
  properties: { city: { type: 'string', description: 'Where' }, days: { type: 'integer', minimum: 2 } },
  required: ['city', 'days'],
  additionalProperties: false,
} as const;
/** What the sandbox calls it with. */
export const WEATHER_ARGS = { city: 'sandbox', days: 2 };

export const PERSON = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
} as const;

/** The error of this class that a call must end with. */
export async function rejection<Failure extends Error>(
  call: PromiseLike<unknown>,
  type: abstract new (...parameters: never[]) => Failure,
): Promise<Failure> {
  const outcome = await Promise.resolve(call).then(
    (value) => assert.fail(`succeeded with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  assert(outcome instanceof type, `expected ${type.name}, got ${inspect(outcome)}`);
  return outcome;
}
