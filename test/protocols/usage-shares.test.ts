/** Shares of reported tokens that have prices of their own, and what an upstream says that it takes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChatResponse, Usage } from '../../src/core/chat.ts';
import { joinUsage } from '../../src/core/usage-bounds.ts';
import { chat } from '../../src/protocols/chat/index.ts';
import { generate } from '../../src/protocols/generate/index.ts';
import { messages } from '../../src/protocols/messages/index.ts';

test('chat completions separate cached audio and image tokens', () => {
  const usage = {
    prompt_tokens: 100,
    prompt_tokens_details: {
      cached_tokens: 50,
      cached_tokens_details: { audio_tokens: 20, image_tokens: 10 },
      audio_tokens: 25,
      image_tokens: 30,
    },
    completion_tokens: 40,
    completion_tokens_details: { image_tokens: 15 },
  };
  const { cached, cachedAudio, cachedImage, imageInput, imageOutput } =
    chat.operations.complete.usageOf({ usage }) ?? {};
  assert.deepEqual([cached, cachedAudio, cachedImage, imageInput, imageOutput], [50, 20, 10, 30, 15]);
});

test('generateContent separates cached audio and image tokens', () => {
  const usageMetadata = {
    promptTokenCount: 100,
    cachedContentTokenCount: 50,
    cacheTokensDetails: [
      { modality: 'AUDIO', tokenCount: 20 },
      { modality: 'IMAGE', tokenCount: 10 },
    ],
    candidatesTokenCount: 40,
    candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 15 }],
  };
  const { cached, cachedAudio, cachedImage, imageOutput } =
    generate.operations.complete.usageOf({ usageMetadata }) ?? {};
  assert.deepEqual([cached, cachedAudio, cachedImage, imageOutput], [50, 20, 10, 15]);
});

test('generateContent counts the media in results of tools as input', () => {
  const usageMetadata = {
    promptTokenCount: 100,
    promptTokensDetails: [{ modality: 'IMAGE', tokenCount: 20 }],
    toolUsePromptTokenCount: 70,
    toolUsePromptTokensDetails: [
      { modality: 'TEXT', tokenCount: 10 },
      { modality: 'IMAGE', tokenCount: 40 },
      { modality: 'AUDIO', tokenCount: 20 },
    ],
    candidatesTokenCount: 5,
  };
  assert.deepEqual(generate.operations.complete.usageOf({ usageMetadata }), {
    ...{ input: 170, output: 5, toolInput: 70, imageInput: 60, audioInput: 20 },
  });
});

test('generateContent names the tier that served by the kind of traffic at Vertex AI', () => {
  const tierOf = (named: object) => {
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, ...named };
    return generate.operations.complete.usageOf({ usageMetadata })?.tier;
  };
  assert.equal(tierOf({ trafficType: 'ON_DEMAND_PRIORITY' }), 'priority');
  assert.equal(tierOf({ trafficType: 'ON_DEMAND_FLEX' }), 'flex');
  assert.equal(tierOf({ trafficType: 'ON_DEMAND_OFFPEAK' }), 'offpeak');
  assert.equal(tierOf({ trafficType: 'ON_DEMAND' }), 'standard');
  assert.equal(tierOf({ trafficType: 'PROVISIONED_THROUGHPUT' }), 'provisioned');
  assert.equal(tierOf({ trafficType: 'constructor' }), undefined);
  assert.equal(tierOf({ trafficType: 'ON_DEMAND', serviceTier: 'flex' }), 'flex');
});

test('messages count the cached shares of rounds that the totals leave out', () => {
  const round = {
    ...{ type: 'compaction', input_tokens: 5, output_tokens: 3, cache_read_input_tokens: 700 },
    ...{ cache_creation_input_tokens: 90, cache_creation: { ephemeral_1h_input_tokens: 60 } },
  };
  const own = { input_tokens: 10, output_tokens: 20, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  const { usageOf } = messages.operations.complete;
  assert.deepEqual(usageOf({ usage: { ...own, iterations: [{ ...own, type: 'message' }, round] } }), {
    ...{ input: 805, output: 23, cached: 700, cacheWrite: 90, cacheWrite1h: 60 },
  });
});

test('the end of a messages stream tells in its rounds alone how long cache writes are kept', () => {
  const round = (type: string, written: number) => ({
    ...{ type, input_tokens: 5, output_tokens: 7, cache_read_input_tokens: 0, cache_creation_input_tokens: written },
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: written },
  });
  const { usageOf } = messages.operations.complete;
  const own = { input_tokens: 5, cache_read_input_tokens: 0, cache_creation_input_tokens: 1000, output_tokens: 7 };
  const begun = usageOf({ type: 'message_start', message: { usage: { ...round('', 1000), output_tokens: 1 } } });
  const usage = { ...own, iterations: [round('compaction', 50), round('message', 1000)] };
  const ended = usageOf({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage });
  assert.deepEqual(joinUsage(begun, ended ?? {}), { input: 1060, output: 14, cacheWrite: 1050, cacheWrite1h: 1050 });
});

test('clients of both get the shares that an upstream reports', () => {
  const usage: Usage = {
    ...{ input: 100, output: 40, cached: 50, cachedAudio: 20, cachedImage: 10 },
    ...{ audioInput: 25, imageInput: 30, audioOutput: 5, imageOutput: 15 },
  };
  const response: ChatResponse = {
    id: 'x',
    model: 'm',
    candidates: [{ parts: [], finish: { reason: 'stop' } }],
    usage,
  };
  const options = { model: 'a/m', created: 1, includeUsage: true, array: false, hideReasoning: false };
  for (const { complete } of [chat.operations, generate.operations])
    assert.deepEqual(complete.usageOf(complete.encodeResponse(response, options)), usage);
});

for (const [spelling, cost] of [
  [{ cost: 0.5 }, 0.5],
  [{ cost: 0.1, is_byok: true, cost_details: { upstream_inference_cost: 0.4 } }, 0.5],
  [{ cost: 0.1, is_byok: false, cost_details: { upstream_inference_cost: 0.4 } }, 0.1],
  [{ cost: { total_cost: 0.5, request_cost: 0.4 } }, 0.5],
  [{ cost_in_usd_ticks: 5_000_000_000 }, 0.5],
  [{ cost: -1 }, undefined],
  [{ cost: '0.5' }, undefined],
] as const) {
  test(`a bill as ${JSON.stringify(spelling)}`, () => {
    assert.equal(chat.operations.complete.usageOf({ usage: { prompt_tokens: 1, ...spelling } })?.reportedCost, cost);
  });
}
