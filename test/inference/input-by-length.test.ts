import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inputByLength } from '../../src/inference/tokens/expected-usage.ts';

const ofText = (text: string) => inputByLength({ bytes: Buffer.from(text) });

test('a body of text counts by its length, one with media does not', () => {
  assert.equal(ofText('x'.repeat(401)), 101);
  for (const mark of ['data:image/png;base64,AA==', '"type":"base64"', '"inlineData":{}', '"inline_data":{}']) {
    assert.equal(ofText(`${'x'.repeat(1000)}${mark}`), undefined, mark);
  }
});

test('media are searched in the first 256 KiB only', () => {
  assert.equal(ofText(`${'x'.repeat(256 * 1024)}base64`), Math.ceil((256 * 1024 + 6) / 4));
});
