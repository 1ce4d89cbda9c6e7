/** A bounded load on a gateway: answers, streams and videos; it counts each, and fails with the first that goes wrong. */

import assert from 'node:assert/strict';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import { question } from '../gateway/harness.ts';

/** Requests at the same time. */
const CLIENTS = 3;
const BETWEEN_REQUESTS_MS = 20;
const BETWEEN_VIDEOS_MS = 1000;
const LONGEST_WAIT_MS = 90_000;
/** Of a connection that a gateway did not accept any more: refused, or reset where it waited to be accepted. */
const UNREACHED = new Set(['ECONNREFUSED', 'ECONNRESET']);

/** Of a disk that took longer than a second for a group of records: on a busy machine, with whichever version. */
const SLOW_DISK = /Usage records cannot be written at the moment|cannot write down what requests use/;

export interface LoadOptions {
  url: string;
  key: string;
  /** Address for the webhooks of videos. */
  hook: string;
  /** Whether a connection that was not accepted may be tried again now. */
  mayRetry?: () => boolean;
}

export interface Load {
  readonly answered: number;
  readonly videos: readonly string[];
  /** Resolves after so many more answers and one more video. */
  more(answers: number): Promise<void>;
  ask(method: string, path: string, body?: Json): Promise<Json>;
  /** Ends the load when what is under way is done; throws if anything went wrong. */
  stop(): Promise<void>;
}

interface Answered {
  status: number;
  body: string;
}

export function startLoad({ url, key, hook, mayRetry = () => false }: LoadOptions): Load {
  const videos: string[] = [];
  let answered = 0;
  let running = true;
  const problems: unknown[] = [];

  async function send(method: string, path: string, body?: Json): Promise<Answered> {
    for (const deadline = performance.now() + LONGEST_WAIT_MS; ; await pause(BETWEEN_REQUESTS_MS)) {
      try {
        const answered = await sendOnce(method, `${url}${path}`, key, body);
        if (!SLOW_DISK.test(answered.body) || performance.now() > deadline) return answered;
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (!UNREACHED.has(code ?? '') || !mayRetry() || performance.now() > deadline) throw error;
      }
    }
  }

  async function chat(index: number): Promise<void> {
    for (let round = index; running; round++) {
      const isStream = round % 2 === 0;
      const asked = await send('POST', '/v1/chat/completions', question('chat', 'a/m', 'Hi', isStream));
      assert.equal(asked.status, 200, asked.body);
      assert.match(asked.body, isStream ? /data: \[DONE\]\s*$/ : /"Yes\."/);
      answered++;
      await pause(BETWEEN_REQUESTS_MS);
    }
  }

  async function makeVideos(): Promise<void> {
    for (; running; await pause(BETWEEN_VIDEOS_MS)) {
      const body = { model: 'sandbox/video', prompt: 'A boat', duration: 1, resolution: '480p', callback_url: hook };
      const asked = await send('POST', '/v1/videos', body);
      assert.equal(asked.status, 202, asked.body);
      videos.push(JSON.parse(asked.body).id);
    }
  }

  const all = [...Array.from({ length: CLIENTS }, (_, index) => chat(index)), makeVideos()].map((work) =>
    work.catch((problem) => {
      problems.push(problem);
      running = false;
    }),
  );
  const failOnProblem = () => {
    if (problems.length > 0) throw problems[0];
  };
  return {
    get answered() {
      return answered;
    },
    videos,
    async more(answers) {
      const wanted = { answered: answered + answers, videos: videos.length + 1 };
      for (const deadline = performance.now() + LONGEST_WAIT_MS; ; await pause(BETWEEN_REQUESTS_MS)) {
        failOnProblem();
        if (answered >= wanted.answered && videos.length >= wanted.videos) return;
        assert.ok(performance.now() < deadline, `${answered} answers and ${videos.length} videos`);
      }
    },
    async ask(method, path, body) {
      let asked = await send(method, path, body);
      // Looks at many tasks together are more than a key may have.
      for (const deadline = performance.now() + LONGEST_WAIT_MS; asked.status === 429; ) {
        assert.ok(performance.now() < deadline, asked.body);
        await pause(BETWEEN_REQUESTS_MS);
        asked = await send(method, path, body);
      }
      assert.equal(asked.status, 200, asked.body);
      return JSON.parse(asked.body);
    },
    async stop() {
      running = false;
      await Promise.all(all);
      failOnProblem();
    },
  };
}

function sendOnce(method: string, url: string, key: string, body?: Json): Promise<Answered> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, async (response) => {
      try {
        resolve({ status: response.statusCode ?? 0, body: await text(response) });
      } catch (error) {
        reject(error);
      }
    });
    sent.on('error', reject);
    sent.end(body && JSON.stringify(body));
  });
}
