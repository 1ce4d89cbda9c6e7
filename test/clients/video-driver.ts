/** Takes a task through an adapter over real HTTP, without the gateway: submitted, polled to its end, fetched. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Provider } from '../../src/core/provider.ts';
import type {
  CancelResult,
  FindResult,
  LostSubmission,
  PollResult,
  SubmitResult,
  VideoApi,
  VideoCall,
  VideoRef,
  VideoRequest,
  VideoResponse,
} from '../../src/core/video.ts';
import { baseUrlOf, credentialOf, headersOf } from '../providers/reach.ts';

export interface Journey {
  /** What the polls said, one after the other. */
  states: PollResult['type'][];
  end: PollResult;
}

/** More than any of the upstreams takes. */
const POLLS = 40;

export interface DriverOptions {
  key?: string;
  /** Of every request. */
  headers?: Record<string, string>;
  /** Milliseconds between two polls, or what passes the time. */
  pause?: number | (() => Promise<void>);
}

export class VideoDriver {
  readonly #provider: Provider;
  readonly #key: string;
  readonly #headers: Record<string, string>;
  readonly #pause: () => Promise<void>;

  constructor(provider: Provider, { key = 'secret', headers = {}, pause = 0 }: DriverOptions = {}) {
    this.#provider = provider;
    this.#key = key;
    this.#headers = headers;
    this.#pause = typeof pause === 'number' ? () => setTimeout(pause) : pause;
  }

  get api(): VideoApi {
    assert.ok(this.#provider.video, `${this.#provider.id} makes videos`);
    return this.#provider.video;
  }

  submit(request: VideoRequest): Promise<SubmitResult> {
    return this.#ask(
      this.api.submit(request, { attemptId: createHash('sha256').update(JSON.stringify(request)).digest('hex') }),
    );
  }

  async follow(ref: VideoRef): Promise<Journey> {
    const states: PollResult['type'][] = [];
    for (let polls = 0; polls < POLLS; polls++) {
      let result = await this.#ask(this.api.poll(ref));
      if (result.type === 'follow') result = await this.#ask(result.call);
      states.push(result.type);
      if (result.type !== 'queued' && result.type !== 'running') return { states, end: result };
      await this.#pause();
    }
    throw new Error(`no end after ${states.join(', ')}`);
  }

  async make(request: VideoRequest): Promise<Journey> {
    const submitted = await this.submit(request);
    assert.ok(submitted.type === 'accepted', JSON.stringify(submitted));
    return this.follow(submitted.ref);
  }

  async find(lost: LostSubmission): Promise<FindResult> {
    assert.ok(this.api.find, `${this.#provider.id} can look for a task`);
    return this.#ask(this.api.find(lost));
  }

  async cancel(ref: VideoRef): Promise<CancelResult> {
    assert.ok(this.api.cancel, `${this.#provider.id} can cancel`);
    return this.#ask(this.api.cancel(ref));
  }

  async fetch(path: string, key = this.#key): Promise<Response> {
    const { platform } = this.#provider;
    const request = { method: 'GET', url: baseUrlOf(this.#provider) + path, headers: this.#headers } as const;
    const { url, headers } = await platform.authorize(request, credentialOf(this.#provider.id, key), Date.now());
    return fetch(url, { headers });
  }

  async #ask<Result>(call: VideoCall<Result>): Promise<Result> {
    const form = call.body instanceof FormData;
    const response = await fetch(baseUrlOf(this.#provider) + call.path, {
      method: call.method,
      headers: {
        ...(call.body !== undefined && !form && { 'content-type': 'application/json' }),
        ...(await headersOf(this.#provider, credentialOf(this.#provider.id, this.#key))),
        ...this.#headers,
        ...call.headers,
      },
      body: form ? call.body : call.body === undefined ? undefined : JSON.stringify(call.body),
    });
    return call.read(await answerOf(response));
  }
}

async function answerOf(response: Response): Promise<VideoResponse> {
  const text = await response.text();
  let body: VideoResponse['body'];
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  return { status: response.status, headers: Object.fromEntries(response.headers), body };
}
