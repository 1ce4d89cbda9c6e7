/** Fees of Google Maps: an answer with places is charged for them, and for its searches if it has any. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import {
  answerEvents,
  answerJson,
  HEADERS,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';
import { recordOf } from './usage-client.ts';

let upstream: TestUpstream;
let gateway: TestGateway;

const CAFE = { maps: { uri: 'https://maps.example', title: 'Cafe', placeId: 'places/1' } };
const PAGE = { web: { uri: 'https://page.example', title: 'Page' } };
/** What an answer is grounded on: Google Maps has queries without a search, too. */
const GROUNDS: Record<string, Json> = {
  cafe: { groundingChunks: [CAFE], webSearchQueries: ['cafes near me'], googleMapsWidgetContextToken: 'w' },
  entry: {
    ...{ groundingChunks: [CAFE], webSearchQueries: ['cafes near me'] },
    searchEntryPoint: { renderedContent: '<a>' },
  },
  page: { groundingChunks: [CAFE, PAGE], webSearchQueries: ['cafes near me'] },
};

function placesFor(word: string): Json {
  const content = { role: 'model', parts: [{ text: 'A cafe.' }] };
  return {
    ...{ responseId: 'r_1', modelVersion: 'm' },
    candidates: [{ index: 0, finishReason: 'STOP', content, groundingMetadata: GROUNDS[word] }],
    usageMetadata: { promptTokenCount: 40, candidatesTokenCount: 10, totalTokenCount: 50 },
  };
}

before(async () => {
  upstream = await startUpstream(({ path, bytes }, answer) => {
    const places = placesFor(Object.keys(GROUNDS).find((word) => bytes.includes(word)) ?? '');
    if (!path.includes('stream')) return answerJson(answer, places);
    answerEvents(answer, `data: ${JSON.stringify(places)}\n\n`);
  });
  gateway = await startTestGateway(`providers:\n  google: { base_url: "${upstream.url}", api_key: k }\n`);
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

for (const [model, place, search] of [
  ['gemini-2.5-flash', 0.025, 0.035],
  ['gemini-3-flash-preview', 0.014, 0.014],
] as const)
  for (const [word, what, fee] of [
    ['cafe', 'places of a map', place],
    ['entry', 'places and a search', place + search],
    ['page', 'places and a page', place + search],
  ] as const)
    for (const stream of [false, true])
      test(`an answer of ${model} with ${what} costs their fees${stream ? ' in a stream' : ''}`, async () => {
        const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
        const contents = [{ parts: [{ text: word }] }];
        const url = `${gateway.url}/gemini/v1beta/models/google/${model}:${method}`;
        const relayed = await post(url, { contents, tools: [{ googleMaps: {} }] }, HEADERS.generate);
        const asked = { model: `google/${model}`, input: word, stream, tools: [{ type: 'web_search' }] };
        const translated = await post(`${gateway.url}/v1/responses`, asked, HEADERS.chat);
        assert.equal((await translated.clone().text()).includes('web_search_call'), fee > place);
        for (const answer of [relayed, translated]) {
          await answer.text();
          const record = await recordOf(gateway.url, String(answer.headers.get('x-polygate-generation-id')));
          assert.equal(record.status, 'completed');
          assert.ok(record.total_cost > fee && record.total_cost < fee + 0.0005, `${record.total_cost}`);
        }
      });
