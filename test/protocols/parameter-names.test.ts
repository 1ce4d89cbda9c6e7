/** Names of parameters in the spelling of a protocol: the longest known beginning is replaced, whatever stands behind it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chat } from '../../src/protocols/chat/index.ts';
import { generate } from '../../src/protocols/generate/index.ts';
import { messages } from '../../src/protocols/messages/index.ts';
import { responses } from '../../src/protocols/responses/index.ts';

const DOTS = '.'.repeat(1_000_000);

for (const [{ id, parameterName }, known] of [
  [chat, 'response_format.json_schema.schema'],
  [messages, 'output_config.format.schema'],
  [generate, 'generationConfig.responseJsonSchema'],
  [responses, 'text.format.schema'],
] as const) {
  test(`${id}: a name of a million dots behind a known one`, () => {
    assert.equal(parameterName(`format.schema.${DOTS}`), `${known}.${DOTS}`);
    assert.equal(parameterName(DOTS), DOTS);
  });
}

test('names inside a schema are those of the client', () => {
  const place = 'properties.fooBar.patternProperties';
  assert.equal(chat.parameterName(`format.schema.${place}`), `response_format.json_schema.schema.${place}`);
  assert.equal(messages.parameterName(`format.schema.${place}`), `output_config.format.schema.${place}`);
  assert.equal(generate.parameterName(`format.schema.${place}`), `generationConfig.responseJsonSchema.${place}`);
  assert.equal(responses.parameterName(`format.schema.${place}`), `text.format.schema.${place}`);
});

test('the longest known beginning counts', () => {
  assert.equal(chat.parameterName('turns.parts.detail.x.Y'), 'messages.content.image_url.detail.x._y');
  assert.equal(chat.parameterName('turns.parts.other'), 'messages.content.other');
  assert.equal(chat.parameterName('turns.other.detail'), 'messages.other.detail');
  assert.equal(responses.parameterName('turns.parts.web_search_call'), 'input.web_search_call');
  assert.equal(generate.parameterName('turns.parts.detail'), 'generationConfig.mediaResolution');
  assert.equal(messages.parameterName('constructor.x'), 'constructor.x');
});

test('what a dialect of chat completions leaves out has the name that the client wrote', () => {
  const detail = 'messages.content.image_url.detail';
  assert.equal(chat.parameterName(detail), detail);
  assert.equal(generate.parameterName(detail), 'generationConfig.mediaResolution');
  assert.equal(responses.parameterName(detail), 'input.content.detail');
});
