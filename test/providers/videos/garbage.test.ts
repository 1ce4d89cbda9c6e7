/** No adapter throws, whatever an upstream says. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Json, read } from '../../../src/core/json/json.ts';
import type { CancelResult, PollResult, VideoApi, VideoCall, VideoResponse } from '../../../src/core/video.ts';
import { sandboxVideo } from '../../../src/providers/sandbox/video/wire.ts';
import { dashscope } from '../../../src/providers/videos/dashscope.ts';
import { falQueue } from '../../../src/providers/videos/fal-queue.ts';
import { grokImagine } from '../../../src/providers/videos/grok-imagine.ts';
import { kling } from '../../../src/providers/videos/kling.ts';
import { luma } from '../../../src/providers/videos/luma.ts';
import { minimax } from '../../../src/providers/videos/minimax.ts';
import { polygateVideos } from '../../../src/providers/videos/openai-videos.ts';
import { openrouterVideos } from '../../../src/providers/videos/openrouter-videos.ts';
import { replicate } from '../../../src/providers/videos/replicate.ts';
import { runway } from '../../../src/providers/videos/runway.ts';
import { seedance } from '../../../src/providers/videos/seedance.ts';
import { veo } from '../../../src/providers/videos/veo.ts';
import { ask, context } from './calls.ts';

const apis: Record<string, VideoApi> = {
  ...{ polygateVideos, openrouterVideos, veo, grokImagine, seedance, falQueue, sandboxVideo },
  ...{ runway, replicate, minimax, dashscope, kling, luma },
};

/** Names that some adapter reads. */
const NAMES = [
  ...['id', 'name', 'request_id', 'status', 'done', 'error', 'error_code', 'error_type', 'code', 'type', 'message'],
  ...['detail', 'msg', 'progress', 'seconds', 'url', 'uri', 'video', 'videos', 'video_url', 'content', 'metadata'],
  ...['unsigned_urls', 'usage', 'cost', 'video_cost', 'video_seconds', 'cost_in_usd_ticks', 'completion_tokens'],
  ...['response', 'generateVideoResponse', 'generatedSamples', 'raiMediaFilteredCount', 'raiMediaFilteredReasons'],
  ...['respect_moderation', 'duration', 'frames', 'framespersecond', 'data', 'items', 'total', 'created_at', 'prompt'],
  ...['output', 'cost', 'credits', 'failure', 'failureCode', 'task', 'task_id', 'task_status', 'task_result', 'state'],
  ...['base_resp', 'status_code', 'status_msg', 'task_info', 'external_task_id', 'assets', 'failure_reason'],
  ...['results', 'next', 'input', 'generations', 'request', 'task_status_msg', 'output_seconds'],
  ...['model', 'seed', 'has_more', 'toString', 'valueOf', '__proto__'],
];
const WORDS = [
  'queued',
  'pending',
  'completed',
  'COMPLETED',
  'done',
  'succeeded',
  'succeed',
  'failed',
  'expired',
  'starting',
  'submitted',
  'dreaming',
  'https://a.b/c',
];

const { body } = fc.letrec<{ body: Json }>((tie) => ({
  body: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom(undefined, null, true, false, 0, -1, 1e300, Number.MAX_SAFE_INTEGER, '', ...WORDS),
    fc.jsonValue(),
    fc.array(tie('body'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie('body'), { maxKeys: 6 }),
  ),
}));
const responses: fc.Arbitrary<VideoResponse> = fc.record({
  status: fc.constantFrom(200, 202, 204, 302, 400, 401, 404, 409, 410, 422, 429, 499, 500),
  headers: fc.constant({}),
  body: fc.oneof(body, fc.constant(read('12345678901234567890'))),
});

/** Everything is read, what is behind it too. */
function exhaust(call: VideoCall<PollResult | CancelResult>, response: VideoResponse): void {
  const result = call.read(response);
  assert.equal(typeof result.type, 'string');
  JSON.stringify(result);
  if (result.type === 'follow') exhaust(result.call, response);
}

describe('arbitrary responses', () => {
  for (const [name, api] of Object.entries(apis)) {
    test(name, () => {
      const ref = api === sandboxVideo ? 'some/id' : { app: 'some/app', kind: 'text2video', id: 'some/id' };
      const lost = { ...context, request: ask({ seed: 1, duration: 5 }), sentAt: 0, otherRefs: [] };
      fc.assert(
        fc.property(responses, (response) => {
          const submitted = api.submit(ask(), context).read(response);
          if (submitted.type === 'accepted') api.poll(submitted.ref);
          exhaust(api.poll(ref), response);
          if (api.cancel) exhaust(api.cancel(ref), response);
          api.find?.(lost).read(response);
        }),
        { numRuns: 2000 },
      );
    });
  }
});
