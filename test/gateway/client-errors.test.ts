/** Malformed requests: refused in the format of the intended protocol, whatever follows on the connection. */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import { errorName } from '../faults/wires.ts';
import { HEADERS, KEY, PATHS, type ProtocolId, startTestGateway, type TestGateway } from './harness.ts';

const IDS = Object.keys(PATHS) as ProtocolId[];
const OTHER_GATEWAYS = ['x-litellm-api-key', 'x-portkey-api-key'];
const OTHER = 'sk-test-other-key-0123456789';
const TOKEN = 'admin-token-0123456789-0123456789-0123456789';

let gateway: TestGateway;

before(async () => {
  gateway = await startTestGateway(`admin: { token: ${TOKEN}, port: 0 }`, {
    keys: [`{ name: other, key: ${OTHER} }`],
  });
});

after(() => gateway.close());

interface Answer {
  status: number;
  headers: string;
  body: Json;
}

/** Sends bytes as they are, and reads until the other side closes the connection. */
function send(url: string, text: string): Promise<Answer[]> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let got = '';
    const socket = connect(Number(port), hostname, () => socket.write(text, 'latin1'));
    socket.on('data', (chunk) => {
      got += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(answersIn(got)));
  });
}

function answersIn(text: string): Answer[] {
  return text
    .split(/(?=HTTP\/1\.1 )/)
    .filter(Boolean)
    .map((response) => {
      const [headers = '', body = ''] = response.split('\r\n\r\n');
      return { status: Number(headers.slice(9, 12)), headers, body: body && JSON.parse(body) };
    });
}

/** The head of a request, to be closed when it is answered; `headers` are lines. */
function head(method: string, path: string, headers: string[]): string {
  return `${[`${method} ${path} HTTP/1.1`, 'host: x', 'connection: close', ...headers].join('\r\n')}\r\n\r\n`;
}

function credentialsOf(protocol: ProtocolId): string[] {
  return Object.entries(HEADERS[protocol]).map(([name, value]) => `${name}: ${value}`);
}

const CODES: Record<string, Record<ProtocolId, [number, string]>> = {
  invalid: {
    chat: [400, 'invalid_request'],
    messages: [400, 'invalid_request_error'],
    generate: [400, 'INVALID_ARGUMENT'],
  },
  headers: {
    chat: [431, 'headers_too_large'],
    messages: [431, 'invalid_request_error'],
    generate: [431, 'INVALID_ARGUMENT'],
  },
  large: {
    chat: [413, 'payload_too_large'],
    messages: [413, 'request_too_large'],
    generate: [400, 'INVALID_ARGUMENT'],
  },
  stranger: {
    chat: [401, 'invalid_api_key'],
    messages: [401, 'authentication_error'],
    generate: [401, 'UNAUTHENTICATED'],
  },
};

for (const protocol of IDS) {
  const path = PATHS[protocol]('sandbox/echo', false);
  const json = ['content-type: application/json', ...credentialsOf(protocol)];

  async function expectRefusal(text: string, kind: keyof typeof CODES): Promise<Answer> {
    const [response, ...more] = await send(gateway.url, text);
    assert.ok(response);
    assert.deepEqual(more, []);
    assert.deepEqual([response.status, errorName(protocol, response.body)], CODES[kind]?.[protocol]);
    assert.match(response.headers, /\r\nx-polygate-request-id: req_/i);
    return response;
  }

  describe(`${protocol} refuses in its own shape`, () => {
    test('a head with a line that is no header', async () => {
      await expectRefusal(`POST ${path} HTTP/1.1\r\nhost: x\r\nno header\r\n\r\n`, 'invalid');
    });

    test('headers that are too large', async () => {
      await expectRefusal(head('POST', path, [`x: ${'y'.repeat(20_000)}`]), 'headers');
    });

    test('two lengths, and a length beside chunks', async () => {
      await expectRefusal(head('POST', path, [...json, 'content-length: 3', 'content-length: 4']), 'invalid');
      await expectRefusal(head('POST', path, [...json, 'content-length: 3', 'transfer-encoding: chunked']), 'invalid');
    });

    test('a chunk without a size, amid a body', async () => {
      const text = `${head('POST', path, [...json, 'transfer-encoding: chunked'])}3\r\n{"a\r\nzz\r\n`;
      await expectRefusal(text, 'invalid');
    });

    test('a chunk without a size, and much behind it', async () => {
      const text = `${head('POST', path, [...json, 'transfer-encoding: chunked'])}zz\r\n${'x'.repeat(2_000_000)}`;
      await expectRefusal(text, 'invalid');
    });

    test('a body that is announced as too large, or becomes it', async () => {
      await expectRefusal(head('POST', path, [...json, 'content-length: 30000000']), 'large');
    });

    test('a request without a host', async () => {
      await expectRefusal(`POST ${path} HTTP/1.1\r\nconnection: close\r\n\r\n`, 'invalid');
    });

    test('a request with two hosts, equal ones too, or with a broken one', async () => {
      for (const host of ['x\r\nhost: x', 'x\r\nhost: y', 'x\r\nHost:', 'x, x', 'x/y', 'u@x', 'x y', '\xe9']) {
        await expectRefusal(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`, 'invalid');
      }
    });

    test('two keys in two headers of one name', async () => {
      const own = Object.keys(HEADERS[protocol]).filter((header) => !header.includes('version'));
      for (const name of [...own, ...OTHER_GATEWAYS]) {
        const value = (key: string) => (name === 'authorization' ? `Bearer ${key}` : key);
        for (const keys of [
          [KEY, OTHER],
          [OTHER, KEY],
          [KEY, 'wrong'],
          ['', KEY],
        ]) {
          const lines = [
            ...json.filter((line) => !line.startsWith(`${name}:`)),
            ...keys.map((key) => `${name}: ${value(key)}`),
          ];
          await expectRefusal(`${head('POST', path, [...lines, 'content-length: 2'])}{}`, 'stranger');
        }
      }
    });

    test('two authorizations where another header has the key', async () => {
      const lines = [...json, 'authorization: Basic abc', `authorization: Bearer ${KEY}`, 'content-length: 2'];
      if (protocol === 'chat') lines.push('authorization: Basic abc');
      await expectRefusal(`${head('POST', path, lines)}{}`, 'stranger');
    });

    test('two content types', async () => {
      await expectRefusal(
        `${head('POST', path, [...json, 'content-type: text/plain', 'content-length: 2'])}{}`,
        'invalid',
      );
    });
  });
}

test('a key that is sent twice is one key', async () => {
  for (const protocol of IDS) {
    const path = PATHS[protocol]('sandbox/echo', false);
    const twice = [...credentialsOf(protocol), ...credentialsOf(protocol), 'content-type: application/json'];
    const [response] = await send(gateway.url, `${head('POST', path, [...twice, 'content-length: 2'])}{}`);
    // The key is accepted and the body is not.
    assert.ok(response && ![401, 403].includes(response.status), `${protocol} ${response?.status}`);
  }
  for (const name of OTHER_GATEWAYS) {
    const twice = [`${name}: ${KEY}`, `${name}: ${KEY}`];
    const [response] = await send(gateway.url, head('GET', '/v1/models', twice));
    assert.equal(response?.status, 200, name);
  }
});

test('two different keys in a query are refused', async () => {
  const path = `${PATHS.generate('sandbox/echo', false)}?key=${KEY}&key=${OTHER}`;
  const [response] = await send(gateway.url, head('POST', path, ['content-length: 0']));
  assert.equal(response?.status, 401);
});

test('an expectation that is not known is ignored', async () => {
  const [response] = await send(gateway.url, head('GET', '/healthz', ['expect: coffee']));
  assert.equal(response?.status, 200);
});

test('garbage behind a request ends the connection and does not touch the response to the request', async () => {
  const [response, ...more] = await send(
    gateway.url,
    'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\nno request at all\r\n\r\n',
  );
  assert.deepEqual([response?.status, response?.body], [200, { status: 'ok' }]);
  assert.ok(more.every(({ status }) => status === 400));
});

test('garbage behind a request with a body does not touch its response either', async () => {
  const body = JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'hi' }] });
  const lines = ['host: x', `authorization: Bearer ${KEY}`, 'content-type: application/json'];
  const request = ['POST /v1/chat/completions HTTP/1.1', ...lines, `content-length: ${body.length}`].join('\r\n');
  const [response] = await send(gateway.url, `${request}\r\n\r\n${body}no request at all\r\n\r\n`);
  assert.equal(response?.status, 200);
  assert.match(response.headers, /connection: close/i);
});

describe('the admin API', () => {
  const paths = [
    '/',
    '/%',
    '/%zz',
    '/admin/v1/keys/%',
    `/${'x'.repeat(5000)}`,
    '/admin/v1/nothing',
    '/admin/v1/keys/%00',
  ];
  for (const method of ['GET', 'POST', 'PROPFIND', 'OPTIONS', 'DELETE']) {
    test(`says 401 first: ${method}`, async () => {
      for (const path of paths) {
        const [response] = await send(gateway.adminUrl, head(method, path, []));
        assert.equal(response?.status, 401, `${method} ${path.slice(0, 30)}`);
      }
    });
  }

  test('says what is wrong to who has the token', async () => {
    const token = `authorization: Bearer ${TOKEN}`;
    const [response] = await send(gateway.adminUrl, head('GET', '/%', [token]));
    assert.equal(response?.status, 404);
    const [two] = await send(gateway.adminUrl, head('GET', '/admin/v1/keys', [token, 'authorization: Bearer wrong']));
    assert.equal(two?.status, 401);
  });

  test('refuses broken requests in its shape', async () => {
    const [broken] = await send(gateway.adminUrl, 'GET / HTTP/1.1\r\nhost: x\r\nno header\r\n\r\n');
    assert.deepEqual([broken?.status, broken?.body.error.code], [400, 'invalid_request']);
    const lines = [`authorization: Bearer ${TOKEN}`, 'content-type: application/json'];
    const large = head('POST', '/admin/v1/keys', [...lines, 'content-length: 300000']);
    const [refused] = await send(gateway.adminUrl, large);
    assert.deepEqual([refused?.status, refused?.body.error.code], [413, 'payload_too_large']);
  });
});

test('a client that reads nothing before it has sent its whole body reads why it was refused', async () => {
  const body = Buffer.alloc(8 * 1024 * 1024, ' ');
  const wrongKey = ['authorization: Bearer sk-wrong', 'content-type: application/json'];
  for (let attempt = 0; attempt < 5; attempt++) {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.write(head('POST', '/v1/chat/completions', [...wrongKey, `content-length: ${body.length}`]));
    await new Promise<void>((resolve, reject) => {
      socket.on('error', reject);
      socket.write(body, () => resolve());
    });
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    const [answer] = answersIn(Buffer.concat(chunks).toString());
    assert.equal(answer?.status, 401);
    assert.match(answer?.headers ?? '', /connection: close/i);
  }
});

test('a client that takes seconds to send its body, and reads nothing before, reads why it was refused', {
  timeout: 20_000,
}, async () => {
  const piece = Buffer.alloc(64 * 1024, ' ');
  const pieces = 60;
  const wrongKey = ['authorization: Bearer sk-wrong', 'content-type: application/json'];
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  const failed = new Promise<never>((_resolve, reject) => socket.once('error', reject));
  socket.write(head('POST', '/v1/chat/completions', [...wrongKey, `content-length: ${pieces * piece.length}`]));
  for (let sent = 0; sent < pieces; sent++) {
    socket.write(piece);
    await Promise.race([pause(80), failed]);
  }
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  const [answer] = answersIn(Buffer.concat(chunks).toString());
  assert.equal(answer?.status, 401);
});

test('a client that goes on sending behind a refusal is cut off', { timeout: 10_000 }, async () => {
  const socket = connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined).resume();
  const ended = new Promise((resolve) => socket.once('close', resolve));
  socket.write(head('POST', '/v1/chat/completions', ['authorization: Bearer sk-wrong', 'content-length: 1000000']));
  const began = performance.now();
  const sending = setInterval(() => socket.write('x'), 50);
  await ended;
  clearInterval(sending);
  const lasted = performance.now() - began;
  assert.ok(lasted > 1000 && lasted < 4000, `${lasted} ms`);
});
