/** The WebSocket client of the official SDK, in both of its majors, and the programs of docs/responses.md. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import OpenAI6 from 'openai-6';
import { ResponsesWS as ResponsesWS6 } from 'openai-6/resources/responses/ws';
import type { Json } from '../../src/core/json/json.ts';
import { codeIn, ROOT } from '../docs/markdown.ts';
import {
  answerEvents,
  KEY,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from '../gateway/harness.ts';
import { streamOf } from '../protocols/responses-wire.ts';
import { ODD } from './judge.ts';

const MODEL = 'openai/gpt-5';
const DOCUMENT = 'docs/responses.md';

let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream(({ body }, response) => {
    const text = JSON.stringify(body.input).includes('odd') ? ODD : 'Hello';
    answerEvents(response, streamOf(text, { id: `resp_${upstream.calls.length}` }));
  });
  gateway = await startTestGateway(
    `providers: { openai: { base_url: "${upstream.url}/v1", api_key: k, models: [{ id: gpt-5 }] } }`,
  );
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

/** The majors differ in types alone as far as these tests go. */
const VERSIONS: Record<string, () => ResponsesWS> = {
  'openai 7': () => new ResponsesWS(new OpenAI({ apiKey: KEY, baseURL: `${gateway.url}/v1` })),
  'openai 6': () =>
    new ResponsesWS6(new OpenAI6({ apiKey: KEY, baseURL: `${gateway.url}/v1` })) as unknown as ResponsesWS,
};

/** The last response of a request, and the text of its events. */
async function ask(socket: ResponsesWS, message: Json): Promise<{ response: Json; text: string }> {
  const ended = Promise.withResolvers<Json>();
  let text = '';
  const onText = ({ delta }: Json): void => {
    text += delta;
  };
  socket.on('response.output_text.delta', onText);
  socket.once('response.completed', ({ response }: Json) => ended.resolve(response));
  socket.once('error', ended.reject);
  socket.send({ type: 'response.create', model: MODEL, store: false, ...message });
  const response = await ended.promise;
  socket.off('response.output_text.delta', onText);
  return { response, text };
}

for (const [name, open] of Object.entries(VERSIONS)) {
  describe(`ResponsesWS of ${name} (checklist 107)`, () => {
    test('reads events, and continues without what was sent before', async () => {
      const socket = open();
      const first = await ask(socket, { input: 'odd' });
      assert.deepEqual([first.text, first.response.model, first.response.status], [ODD, MODEL, 'completed']);
      const second = await ask(socket, { input: 'more', previous_response_id: first.response.id });
      assert.notEqual(second.response.id, first.response.id);
      const { input } = upstream.calls.at(-1)?.body ?? {};
      const texts = [input[0], input.at(-1)].map(({ content }) => content[0].text);
      assert.deepEqual([input.length, ...texts], [4, 'odd', 'more']);
      socket.close();
    });

    test('gets errors as errors, and goes on', async () => {
      const socket = open();
      await assert.rejects(ask(socket, { input: 'Hi', previous_response_id: 'resp_none' }), (error: Json) => {
        assert.match(error.message, /Previous response with id 'resp_none' not found/);
        assert.equal(error.error.error.code, 'previous_response_not_found');
        return true;
      });
      assert.equal((await ask(socket, { input: 'Hi', generate: false })).response.output.length, 0);
      assert.equal((await ask(socket, { input: 'Hi' })).text, 'Hello');
      socket.close();
    });
  });
}

describe(`programs of ${DOCUMENT}`, () => {
  const OUTPUTS = ['And again\n', 'Hello'];
  const programs = codeIn(DOCUMENT, 'js');

  test('each has an output here', () => assert.equal(programs.length, OUTPUTS.length));

  for (const [index, program] of programs.entries()) {
    test(program.slice(0, program.indexOf('\n')), async () => {
      const code = program.replace('127.0.0.1:8080', new URL(gateway.url).host);
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code], {
        cwd: join(ROOT, 'test', 'clients'),
        env: { PATH: process.env.PATH, POLYGATE_KEY: KEY },
      });
      assert.equal(stdout, OUTPUTS[index]);
    });
  }
});
