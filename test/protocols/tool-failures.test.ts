/** Failed tools in requests: counted after the last turn of the model, in the protocols that mark them. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Json } from '../../src/core/json/json.ts';
import { chat } from '../../src/protocols/chat/index.ts';
import { generate } from '../../src/protocols/generate/index.ts';
import { messages } from '../../src/protocols/messages/index.ts';
import { responses } from '../../src/protocols/responses/index.ts';

const ofMessages = (body: Json) => messages.operations.complete.toolFailuresOf?.(body);
const ofGenerate = (body: Json) => generate.operations.complete.toolFailuresOf?.(body);

const result = (is_error?: Json) => ({ type: 'tool_result', tool_use_id: 'a', content: 'x', is_error });
const asked = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] };
const answered = (...content: Json[]) => ({ role: 'user', content });

describe('messages', () => {
  test('counts results that are marked, and no others', () => {
    const turn = answered(result(true), result(false), result(), result('true'), { type: 'text', text: 'x' });
    assert.equal(ofMessages({ messages: [{ role: 'user', content: 'Hi' }, asked, turn] }), 1);
    assert.equal(ofMessages({ messages: [{ role: 'user', content: 'is_error: true' }] }), 0);
  });

  test('counts each failure in the first request that has it', () => {
    const history = [{ role: 'user', content: 'Hi' }, asked, answered(result(true), result(true))];
    assert.equal(ofMessages({ messages: history }), 2);
    assert.equal(ofMessages({ messages: [...history, asked, answered(result(true))] }), 1);
    assert.equal(ofMessages({ messages: [...history, asked, answered(result())] }), 0);
    const apart = [...history, asked, answered(result(true)), answered(result(true))];
    assert.equal(ofMessages({ messages: apart }), 2, 'a client may send the results in several turns');
  });
});

describe('generate', () => {
  const call = { role: 'model', parts: [{ functionCall: { name: 'look', args: {} } }] };
  const response = (value: Json) => ({ functionResponse: { name: 'look', response: value } });

  test('counts responses with an error, in both spellings, and each once', () => {
    const turn = {
      role: 'user',
      parts: [
        response({ error: 'No such file.' }),
        response({ output: 'x' }),
        response({ error: null, output: 'x' }),
        { function_response: { name: 'look', response: { error: { code: 1 } } } },
      ],
    };
    const history = [{ role: 'user', parts: [{ text: 'Hi' }] }, call, turn];
    assert.equal(ofGenerate({ contents: history }), 2);
    assert.equal(
      ofGenerate({ contents: [...history, call, { role: 'function', parts: [response({ error: 'x' })] }] }),
      1,
    );
  });
});

test('protocols that mark no results say nothing', () => {
  for (const { operations } of [chat, responses]) assert.equal(operations.complete.toolFailuresOf, undefined);
});

test('a body of any shape is counted without a fault', () => {
  const shape = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom<Json[]>(null, true, 'model', 'assistant', 1),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(
        fc.constantFrom(
          'messages',
          'contents',
          'role',
          'content',
          'parts',
          'functionResponse',
          'response',
          'type',
          '__proto__',
        ),
        tie('value'),
        { maxKeys: 4 },
      ),
    ),
  })).value;
  fc.assert(
    fc.property(shape, (turns) => {
      assert.ok(Number.isInteger(ofMessages({ messages: turns })));
      assert.ok(Number.isInteger(ofGenerate({ contents: turns })));
    }),
  );
});
