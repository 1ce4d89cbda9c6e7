/** The official generateContent SDK when something goes wrong: its own error class, never a silent success. */

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type { ApiError, GenerateContentParameters, GoogleGenAI } from '@google/genai';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { genaiClients, isApiError, withKey } from './genai.ts';
import { collect, judge, rejection } from './judge.ts';

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGatewayProcess();
});
after(() => gateway.close());

function ask(client: GoogleGenAI, contents: string, more: Partial<GenerateContentParameters> = {}) {
  return client.models.generateContent({ model: 'sandbox/faulty', contents, ...more });
}

async function streamed(client: GoogleGenAI, contents: string, abortSignal?: AbortSignal): Promise<string> {
  const params = { model: 'sandbox/faulty', contents, config: { abortSignal } };
  return collect(await client.models.generateContentStream(params), ({ text }) => text);
}

/** The SDK gives an error's body as its message. */
async function failure(call: Promise<unknown>): Promise<{ error: ApiError; status: string; message: string }> {
  const error = await rejection(call, Error);
  assert(isApiError(error), `expected an ApiError, got ${error}`);
  const { status, message } = JSON.parse(error.message.replace(/^[^{]*/, '')).error;
  return { error, status, message };
}

judge(
  genaiClients(() => gateway),
  {
    'a wrong key is an ApiError of status 401 (checklist 4)': async (client) => {
      const { error, status } = await failure(ask(withKey(client, gateway.url, 'wrong'), 'hi'));
      assert.deepEqual([error.status, status], [401, 'UNAUTHENTICATED']);
      assert.match(error.message, /API_KEY_INVALID/);
    },

    'an unknown model or provider is an ApiError of status 404 (checklist 13)': async (client) => {
      for (const model of ['sandbox/none', 'nobody/none']) {
        const { error, status } = await failure(ask(client, 'hi', { model }));
        assert.deepEqual([error.status, status], [404, 'NOT_FOUND']);
      }
      assert.equal((await failure(client.models.get({ model: 'sandbox/none' }))).error.status, 404);
    },

    'a bad parameter is an ApiError of status 400 that names it': async (client) => {
      const { error, status, message } = await failure(ask(client, 'hi', { config: { temperature: 3 } }));
      assert.deepEqual([error.status, status], [400, 'INVALID_ARGUMENT']);
      assert.match(message, /temperature/);
    },

    'a provider’s failure has its status, its rejected key never 401 (checklist 80, 81, 85)': async (client) => {
      const failures: [string, number, string][] = [
        ['status 429', 429, 'RESOURCE_EXHAUSTED'],
        ['status 500', 503, 'UNAVAILABLE'],
        ['status 503', 503, 'UNAVAILABLE'],
        ['status 529', 503, 'UNAVAILABLE'],
        ['status 401', 503, 'UNAVAILABLE'],
        ['garbage', 503, 'UNAVAILABLE'],
        ['empty', 503, 'UNAVAILABLE'],
        ['error in 200', 503, 'UNAVAILABLE'],
        ['cut after 3', 503, 'UNAVAILABLE'],
      ];
      for (const [words, code, status] of failures) {
        const found = await failure(ask(client, words));
        assert.deepEqual([words, found.error.status, found.status], [words, code, status]);
      }
    },

    'a failure before the first event of a stream has its status (checklist 82)': async (client) => {
      assert.equal((await failure(streamed(client, 'status 429'))).error.status, 429);
      for (const words of ['status 503', 'garbage', 'empty', 'error in 200'])
        assert.equal((await failure(streamed(client, words))).error.status, 503, words);
    },

    'a stream that breaks raises, in version 1 without saying why (checklist 28, 53)': async (client) => {
      for (const words of ['cut after 3', 'end after 3', 'error in stream after 2']) {
        const error = await rejection(streamed(client, words), Error);
        if (isApiError(error)) assert.equal(error.status, 503, words);
        else assert.match(error.message, /^Incomplete/);
      }
    },

    'a stream can be given up at any time': async (client) => {
      const controller = new AbortController();
      const running = streamed(client, 'hang after 3', controller.signal);
      setImmediate(() => controller.abort());
      await rejection(running, Error);
    },
  },
);
