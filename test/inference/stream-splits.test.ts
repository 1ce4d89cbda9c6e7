/** A Responses stream cut between any two bytes, with any line ends, says the same to clients of every protocol. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { protocolOf, protocols } from '../../src/protocols/index.ts';
import { deliver } from '../fuzz/delivery.ts';
import { frame } from '../protocols/responses-wire.ts';

const TEXT = 'é中🦊\u2028';
const part = (text: string) => ({ type: 'output_text', text, annotations: [] });
const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [part(TEXT)] };
const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };

const STREAM = [
  { type: 'response.created', response: { id: 'resp_1', object: 'response', output: [] } },
  { type: 'response.output_item.added', output_index: 0, item: { ...message, content: [] } },
  { type: 'response.output_text.delta', output_index: 0, content_index: 0, item_id: 'msg_1', delta: TEXT },
  { type: 'response.output_item.done', output_index: 0, item: message },
  {
    type: 'response.completed',
    response: { id: 'resp_1', object: 'response', status: 'completed', output: [message], usage },
  },
]
  .map(frame)
  .join('');

const LINE_ENDS = { LF: '\n', CR: '\r', CRLF: '\r\n' };
const upstream = protocolOf('responses');
const type = 'text/event-stream';

for (const client of protocols) {
  for (const [name, end] of Object.entries(client.id === 'chat' ? LINE_ENDS : { CRLF: LINE_ENDS.CRLF })) {
    test(`${client.id} client, lines that end in ${name} (checklist 77, 78)`, () => {
      const bytes = Buffer.from(STREAM.replaceAll('\n', end));
      const asked = { client, upstream, stream: true };
      const whole = deliver(asked, { type, chunks: [bytes] });
      assert.equal(whole.error, undefined);
      assert.ok(whole.text?.includes('é中🦊'));
      for (let at = 1; at < bytes.length; at++) {
        const pieces = deliver(asked, { type, chunks: [bytes.subarray(0, at), bytes.subarray(at)] });
        // A relay needs no line feed after the last carriage return.
        assert.equal(pieces.text?.trimEnd(), whole.text?.trimEnd(), `cut at ${at}`);
        assert.equal(pieces.error, undefined);
      }
      const single = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
      assert.equal(deliver(asked, { type, chunks: single }).text?.trimEnd(), whole.text?.trimEnd());
    });
  }
}
