/** Runs tables of requests and responses against one adapter. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../../src/core/json/json.ts';
import type {
  CancelResult,
  PollResult,
  SubmitResult,
  VideoApi,
  VideoRef,
  VideoRequest,
} from '../../../src/core/video.ts';
import { ask, context, response } from './calls.ts';

export interface Table {
  api: VideoApi;
  ref: VideoRef;
  requests: [name: string, request: VideoRequest, path: string, body: Json][];
  /** Headers that every submission has. */
  headers?: Record<string, string>;
  submissions: [body: Json, status: number, result: SubmitResult][];
  pollPath: string;
  polls: [body: Json, result: PollResult][];
}

export function testAdapter({ api, ref, requests, headers, submissions, pollPath, polls }: Table): void {
  describe('requests', () => {
    for (const [name, request, path, body] of requests)
      test(name, () => {
        const call = api.submit(request, context);
        assert.deepEqual([call.method, call.path, call.headers], ['POST', path, headers]);
        assert.deepEqual(JSON.parse(JSON.stringify(call.body)), body);
      });
  });

  describe('submissions', () => {
    for (const [body, status, result] of submissions)
      test(`${status} ${JSON.stringify(body)}`, () =>
        assert.deepEqual(api.submit(ask(), context).read(response(body, status)), result));

    test('a success without a usable id leaves open what happened', () => {
      for (const body of [undefined, null, 'ok', [], {}, { id: '..' }, { output: {} }, { data: { task_id: '.' } }])
        assert.deepEqual(api.submit(ask(), context).read(response(body)), { type: 'unreadable' });
    });
  });

  describe('polls', () => {
    test('ask below the base URL', () => {
      const call = api.poll(ref);
      assert.deepEqual([call.method, call.path, call.body], ['GET', pollPath, undefined]);
    });
    for (const [body, result] of polls)
      test(JSON.stringify(body), () => assert.deepEqual(api.poll(ref).read(response(body)), result));

    test('without a status tell nothing', () => {
      for (const body of [undefined, null, '', '<html>', 1, [], {}, { task: null }, { output: [] }, { data: 'x' }])
        assert.deepEqual(api.poll(ref).read(response(body)), { type: 'unreadable' }, JSON.stringify(body));
    });
    test('tell nothing by an error, and by 410 that the task is gone', () => {
      assert.deepEqual(api.poll(ref).read(response({ message: 'bad' }, 400)), { type: 'unreadable' });
      assert.deepEqual(api.poll(ref).read(response({ message: 'gone' }, 410)), { type: 'lost' });
    });
  });
}

export function refused(
  code: Extract<SubmitResult, { type: 'rejected' }>['error']['code'],
  message: string,
  retryable = false,
): SubmitResult {
  return { type: 'rejected', error: { code, message }, retryable };
}

/** Cancels a task whose state is in `state`, and answers the deletion, if it comes to that, with `status`. */
export function cancelled(
  api: VideoApi,
  ref: VideoRef,
  state: Json,
  status = 200,
): [calls: string[], result: CancelResult] {
  const calls: string[] = [];
  let call = api.cancel?.(ref);
  let result: CancelResult = { type: 'unreadable' };
  for (const reply of [response(state), response(undefined, status)]) {
    if (!call) break;
    calls.push(`${call.method} ${call.path}`);
    result = call.read(reply);
    call = result.type === 'follow' ? result.call : undefined;
  }
  return [calls, result];
}
