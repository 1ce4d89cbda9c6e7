/** `polygate webhooks listen`: receives the webhooks of a key from its gateway, verifies, forwards and shows them. */

import { sleep, startTimeout, systemClock } from '../core/clock.ts';
import { withoutEnd } from '../core/text.ts';
import { verifyWebhook } from '../webhooks/verify.ts';
import { unreachedReason } from './unreached.ts';

export interface ListenOptions {
  /** Base URL of the gateway. */
  url: string;
  /** Key of the gateway; absent means the one in the environment. */
  key?: string;
  /** Address on this machine to which webhooks are sent. */
  forward?: string;
}

interface Received {
  id: string;
  headers: Record<string, string>;
  body: string;
}

const KEY_VARIABLE = 'POLYGATE_KEY';
const WAIT_S = 25;
/** Timeouts of a long poll at the gateway, and of a request to the receiver. */
const POLL_TIMEOUT_MS = 60_000;
const FORWARD_TIMEOUT_MS = 10_000;
const RETRY_MS = 2000;
const WIDTHS = [24, 30, 36];

/** Ends with Ctrl-C, where the gateway refuses the key, or when its output is closed. */
export async function listen({ url, key = process.env[KEY_VARIABLE], forward }: ListenOptions): Promise<void> {
  const closed = new AbortController();
  // Its reader, such as `head`, has left.
  process.stdout.once('error', () => closed.abort());
  if (!key) throw new Error(`Give the key whose webhooks are to be received by --key, or in ${KEY_VARIABLE}.`);
  const base = `${withoutEnd(url, '/')}/v1/key`;
  let secrets = await readSecrets(base, key);
  let next = String((await ask(`${base}/webhooks`, key)).next);
  process.stderr.write(
    `Listening for webhooks of ${url}${forward ? `, forwarding to ${forward}` : ''}. Ctrl-C ends it.\n`,
  );
  for (;;) {
    const answer = await untilAnswered(
      () => ask(`${base}/webhooks?after=${next}&wait=${WAIT_S}`, key, closed.signal),
      closed.signal,
    );
    if (!answer) return;
    for (const received of answer.data as Received[]) {
      if (!isVerified(received, secrets))
        secrets = (await untilAnswered(() => readSecrets(base, key), closed.signal)) ?? secrets;
      const outcome = isVerified(received, secrets) ? await pass(received, forward) : 'not signed by this key';
      show(received, outcome);
    }
    next = String(answer.next);
  }
}

interface Answered {
  data?: unknown;
  next?: unknown;
}

class Refused extends Error {}

async function readSecrets(base: string, key: string): Promise<string[]> {
  const { data } = await ask(`${base}/webhook-secret`, key);
  return (data as { secret: string }[]).map(({ secret }) => secret);
}

async function ask(url: string, key: string, closed?: AbortSignal): Promise<Answered> {
  const headers = { authorization: `Bearer ${key}` };
  const { signal: timeout, cancel } = startTimeout(systemClock, POLL_TIMEOUT_MS);
  const signal = closed ? AbortSignal.any([timeout, closed]) : timeout;
  try {
    const response = await fetch(url, { headers, signal, redirect: 'error' }).catch((error: Error) => {
      throw new Error(`No gateway answers at ${new URL(url).origin} (${unreachedReason(error)}); --url names another.`);
    });
    return read(response, await response.text());
  } finally {
    cancel();
  }
}

function read(response: Response, text: string): Answered {
  if (response.ok) return JSON.parse(text);
  const problem = `The gateway answered with status ${response.status}: ${messageIn(text)}`;
  if (response.status < 500 && response.status !== 429) throw new Refused(problem);
  throw new Error(problem);
}

/** Tells once that the gateway is away, and goes on where it was. Undefined once the output is closed. */
async function untilAnswered<Result>(work: () => Promise<Result>, closed: AbortSignal): Promise<Result | undefined> {
  for (let isTold = false; !closed.aborted; isTold = true) {
    try {
      return await work();
    } catch (error) {
      if (closed.aborted) break;
      if (error instanceof Refused) throw error;
      if (!isTold) process.stderr.write(`${unreachedReason(error)}; trying again.\n`);
      await sleep(systemClock, RETRY_MS, closed);
    }
  }
  return undefined;
}

function isVerified({ body, headers }: Received, secrets: string[]): boolean {
  try {
    verifyWebhook(body, headers, secrets);
    return true;
  } catch {
    return false;
  }
}

async function pass({ body, headers }: Received, forward: string | undefined): Promise<string> {
  if (!forward) return 'verified';
  const { signal, cancel } = startTimeout(systemClock, FORWARD_TIMEOUT_MS);
  try {
    const response = await fetch(forward, { method: 'POST', headers, body, signal, redirect: 'manual' });
    await response.body?.cancel();
    return String(response.status);
  } catch (error) {
    return unreachedReason(error);
  } finally {
    cancel();
  }
}

function show({ id, body }: Received, outcome: string): void {
  const { event } = JSON.parse(body);
  const cells = [new Date(systemClock.now()).toISOString(), String(event), id, outcome];
  const line = process.stdout.isTTY
    ? cells.map((cell, index) => cell.padEnd(WIDTHS[index] ?? 0)).join('  ')
    : cells.join('\t');
  process.stdout.write(`${line}\n`);
}

function messageIn(text: string): string {
  try {
    return String(JSON.parse(text).error.message);
  } catch {
    return 'no reason given';
  }
}
