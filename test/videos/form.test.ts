/** Multipart forms: conversion to the same JSON as a JSON body. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { readForm } from '../../src/videos/form.ts';

const PNG = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1');

async function read(entries: [string, string | Blob, string?][]): Promise<Json> {
  const form = new FormData();
  for (const [name, value, file] of entries) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, value, file ?? 'file');
  }
  const request = new Response(form);
  const fields = await readForm(Buffer.from(await request.arrayBuffer()), request.headers.get('content-type') ?? '');
  return JSON.parse(JSON.stringify(fields));
}

describe('forms', () => {
  test('numbers, booleans, objects and lists', async () => {
    const fields = await read([
      ['prompt', '42'],
      ['seconds', '8'],
      ['seed', '-1'],
      ['generate_audio', 'true'],
      ['metadata[color]', 'red'],
      ['provider', '{"only":["a"]}'],
      ['input_references[][type]', 'image_url'],
      ['input_reference[image_url]', 'https://example.com/a.png'],
      ['frame_images[0][frame_type]', 'first_frame'],
      ['frame_images[0][image_url][url]', 'https://example.com/b.png'],
    ]);
    assert.deepEqual(fields, {
      prompt: '42',
      seconds: 8,
      seed: -1,
      generate_audio: true,
      metadata: { color: 'red' },
      provider: { only: ['a'] },
      input_references: [{ type: 'image_url' }],
      input_reference: { image_url: 'https://example.com/a.png' },
      frame_images: [{ frame_type: 'first_frame', image_url: { url: 'https://example.com/b.png' } }],
    });
  });

  test('files become data URIs of their content', async () => {
    const url = `data:image/png;base64,${PNG.toString('base64')}`;
    const fields = await read([
      ['input_reference', new Blob([PNG], { type: 'application/octet-stream' })],
      ['input_references[]', new Blob([PNG])],
      ['input_references[]', new Blob(['?'], { type: 'audio/mpeg' })],
    ]);
    assert.deepEqual(fields, {
      input_reference: { image_url: url },
      input_references: [
        { type: 'image_url', image_url: { url } },
        { type: 'audio_url', audio_url: { url: 'data:audio/mpeg;base64,Pw==' } },
      ],
    });
  });

  test('malformed forms are refused', async () => {
    await assert.rejects(read([['prompt', new Blob(['x'])]]), { code: 'invalid_request', param: 'prompt' });
    await assert.rejects(read([['provider', '{"only":']]), { code: 'invalid_request', param: 'provider' });
    await assert.rejects(read([['a[b', 'x']]), { code: 'invalid_request' });
    await assert.rejects(read([['a[1]', 'x']]), { code: 'invalid_request' });
    await assert.rejects(
      read([
        ['a', 'x'],
        ['a[b]', 'x'],
      ]),
      { code: 'invalid_request', param: 'a' },
    );
    await assert.rejects(readForm(Buffer.from('--x\r\nno'), 'multipart/form-data; boundary=x'), {
      code: 'invalid_request',
    });
  });

  test('a field name cannot change the prototype', async () => {
    await read([
      ['__proto__[polluted]', 'x'],
      ['metadata[__proto__][polluted]', 'x'],
    ]);
    assert.equal(({} as Json).polluted, undefined);
  });
});
