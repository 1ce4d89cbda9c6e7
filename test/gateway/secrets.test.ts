/** Nothing secret or private leaves by the log, by an error or by a header, whatever an upstream says. */

import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { HEADERS, KEY, PATHS, type ProtocolId, post, question, startTestGateway, type TestGateway } from './harness.ts';

const UPSTREAM_KEY = 'sk-upstream-0123456789abcdef';
const SECRETS = [KEY, UPSTREAM_KEY, 'private words'];
const IDS = Object.keys(PATHS) as ProtocolId[];

let gateway: TestGateway;
/** The bytes that the upstream answers with, head and all. */
let answer = '';
const server = createServer((socket: Socket) => {
  socket.on('error', () => {});
  socket.once('data', () => socket.end(Buffer.from(answer)));
});

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  gateway = await startTestGateway(`
providers:
  p: { type: openai-compatible, base_url: "http://127.0.0.1:${port}/v1", api_key: ${UPSTREAM_KEY}, models: [{ id: m }] }
`);
});

after(async () => {
  await gateway.close();
  await new Promise((resolve) => server.close(resolve));
});

beforeEach(() => {
  gateway.log.length = 0;
});

function answerWith(status: string, headers: string[], body: string): void {
  const head = [`HTTP/1.1 ${status}`, ...headers, `content-length: ${Buffer.byteLength(body)}`, 'connection: close'];
  answer = `${head.join('\r\n')}\r\n\r\n${body}`;
}

async function ask(protocol: ProtocolId): Promise<{ status: number; headers: Headers; text: string }> {
  const url = gateway.url + PATHS[protocol]('p/m', false);
  const response = await post(url, question(protocol, 'p/m', 'private words'), HEADERS[protocol]);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const COMPLETION = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
});

const JSON_TYPE = 'content-type: application/json';

describe('log', () => {
  const said = JSON.stringify({ error: { message: `Wrong key ${UPSTREAM_KEY} at https://internal.example/?key=1` } });
  for (const [name, reply] of Object.entries({
    'a response': () => answerWith('200 OK', [JSON_TYPE], COMPLETION),
    'a response that is no JSON': () => answerWith('200 OK', [JSON_TYPE], `${UPSTREAM_KEY} private words`),
    'an error that repeats the key': () => answerWith('400 Bad Request', [JSON_TYPE], said),
    'a refused key': () => answerWith('401 Unauthorized', [JSON_TYPE], said),
    'a response that is no HTTP': () => {
      answer = `private words ${UPSTREAM_KEY}\r\n\r\n`;
    },
  })) {
    for (const protocol of IDS) {
      test(`${name}: ${protocol}`, async () => {
        reply();
        const { text, headers } = await ask(protocol);
        const written = JSON.stringify(gateway.log);
        assert.ok(gateway.log.length > 0);
        for (const secret of SECRETS) assert.ok(!written.includes(secret), `${secret} in ${written}`);
        assert.ok(!written.includes('internal.example'), written);
        const shown = text + JSON.stringify([...headers]);
        assert.ok(!shown.includes(UPSTREAM_KEY) && !shown.includes('internal.example'), shown);
      });
    }
  }

  test('a key in the query', async () => {
    const path = `${PATHS.generate('p/none', false)}?key=${KEY}`;
    assert.equal((await post(gateway.url + path, question('generate', '', 'hi'), {})).status, 404);
    assert.ok(!JSON.stringify(gateway.log).includes(KEY));
  });
});

describe('headers of an upstream', () => {
  test('an id that is no header value here is left out', async () => {
    answerWith('200 OK', [JSON_TYPE, 'x-request-id: 漢'], COMPLETION);
    const { status, headers } = await ask('chat');
    assert.equal(status, 200);
    assert.equal(headers.get('x-polygate-upstream-request-id'), null);
  });

  test('headers that come twice count once', async () => {
    answerWith('200 OK', [JSON_TYPE, JSON_TYPE, 'x-request-id: one', 'x-request-id: two'], COMPLETION);
    const { status, headers } = await ask('chat');
    assert.equal(status, 200);
    assert.equal(headers.get('x-polygate-upstream-request-id'), 'one');
  });

  test('no header of its own comes through', async () => {
    answerWith('200 OK', [JSON_TYPE, 'set-cookie: a=b', 'server: internal', 'x-organization: org-1'], COMPLETION);
    const { headers } = await ask('chat');
    for (const name of ['set-cookie', 'server', 'x-organization']) assert.equal(headers.get(name), null);
  });
});
