/** Spans of cited text: offsets outside of the text, and offsets into a whole answer. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ChatEvent, Citation } from '../../src/core/chat.ts';
import { citedSpan, placedAt } from '../../src/core/cited-span.ts';
import type { Json } from '../../src/core/json/json.ts';
import { protocolOf } from '../../src/protocols/index.ts';
import { deliver } from '../fuzz/delivery.ts';
import { checkStream } from '../validators/index.ts';

test('a span ends with its text, and one outside of it is all of it', () => {
  assert.deepEqual(citedSpan({ start: 1, end: 3 }, 5), { start: 1, end: 3 });
  assert.deepEqual(citedSpan({ start: 1, end: 9 }, 5), { start: 1, end: 5 });
  assert.deepEqual(citedSpan({ start: 2 }, 5), { start: 2, end: 5 });
  for (const citation of [{}, { start: 6, end: 9 }, { start: 3, end: 2 }])
    assert.deepEqual(citedSpan(citation, 5), { start: 0, end: 5 });
});

test('a citation of an earlier part has no place in a later one', () => {
  assert.deepEqual(placedAt(5, { url: 'u', start: 7, end: 9 }), { url: 'u', start: 2, end: 4 });
  assert.deepEqual(placedAt(5, { url: 'u', start: 1, end: 4 }), { url: 'u' });
});

const URL = 'https://source.test/';
const target = { origin: 'upstream', model: 'm', rules: {} };

/** Text with a character of two UTF-16 units, which offsets count as such. */
const SAID = 'A 🦊 runs.';
const CITED = '🦊 runs';
const [START, END] = [2, 9];

function cited(upstream: string): Json {
  const start_index = START;
  const end_index = END;
  switch (upstream) {
    case 'chat': {
      const annotations = [{ type: 'url_citation', url_citation: { url: URL, start_index, end_index } }];
      return { id: 'a', choices: [{ message: { content: SAID, annotations }, finish_reason: 'stop' }] };
    }
    case 'generate': {
      const [before, words] = [SAID.slice(0, START), CITED].map((text) => Buffer.byteLength(text)) as [number, number];
      const groundingMetadata = {
        groundingChunks: [{ web: { uri: URL } }],
        groundingSupports: [{ segment: { startIndex: before, endIndex: before + words }, groundingChunkIndices: [0] }],
      };
      return { candidates: [{ content: { parts: [{ text: SAID }] }, finishReason: 'STOP', groundingMetadata }] };
    }
    default: {
      const citations = [{ type: 'web_search_result_location', url: URL, title: null, cited_text: CITED }];
      return { id: 'a', content: [{ type: 'text', text: SAID, citations }], stop_reason: 'end_turn' };
    }
  }
}

describe('url_citation of a Responses client counts in UTF-16 units of its text, and has a title', () => {
  const client = protocolOf('responses');
  for (const upstream of ['chat', 'messages', 'generate'].map(protocolOf)) {
    const chunks = [Buffer.from(JSON.stringify(cited(upstream.id)))];
    // A block of messages is cited as a whole.
    const span = upstream.id === 'messages' ? [0, SAID.length] : [START, END];
    const annotation = { type: 'url_citation', url: URL, title: '', start_index: span[0], end_index: span[1] };
    test(`from ${upstream.id}, whole`, () => {
      const { output } = JSON.parse(deliver({ client, upstream, stream: false }, { chunks }).text ?? '');
      assert.deepEqual(output[0].content[0].annotations, [annotation]);
    });
    test(`from ${upstream.id}, streamed`, () => {
      const { data } = checkStream('responses', deliver({ client, upstream, stream: true }, { chunks }).text ?? '');
      const added = data.filter(({ type }) => type === 'response.output_text.annotation.added');
      assert.deepEqual(
        added.map((event) => event.annotation),
        [annotation],
      );
    });
  }
});

test('offsets of chat completions count in the whole content, also behind another part', () => {
  const annotations = [{ type: 'url_citation', url_citation: { url: URL, start_index: 7, end_index: 9 } }];
  const content = [
    { type: 'text', text: 'First' },
    { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] },
    { type: 'text', text: 'Second' },
  ];
  const body = { id: 'a', choices: [{ message: { content, annotations }, finish_reason: 'stop' }] };
  const [candidate] = protocolOf('chat').operations.complete.decodeResponse(body, target).candidates;
  const last = candidate?.parts.at(-1);
  assert.deepEqual(last?.type === 'text' && last.citations?.map(spanOf), [{ start: 2, end: 4 }]);
});

function spanOf({ start, end }: Citation): Pick<Citation, 'start' | 'end'> {
  return { start, end } as Pick<Citation, 'start' | 'end'>;
}

test('offsets behind the end of a text end with it', () => {
  const events: ChatEvent[] = [
    { type: 'message-start', id: 'a', model: 'm' },
    { type: 'part-start', index: 0, candidate: 0, part: { type: 'text', text: SAID } },
    { type: 'part-delta', index: 0, citation: { url: URL, start: 2, end: 99 } },
    { type: 'part-end', index: 0 },
    { type: 'candidate-end', candidate: 0, finish: { reason: 'stop' } },
    { type: 'message-end' },
  ];
  const options = { model: 'm', created: 1, includeUsage: false, array: false, hideReasoning: false };
  const encoder = protocolOf('responses').operations.complete.streamEncoder(options);
  const { data } = checkStream('responses', events.map(encoder.encode).join(''));
  assert.equal(data.at(-1)?.response.output[0].content[0].annotations[0].end_index, SAID.length);
});
