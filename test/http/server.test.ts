/** Errors of the gateway itself while it takes a request in: each is answered, and logged with the id of the request. */

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Logger } from 'pino';
import { ByteCollector } from '../../src/core/byte-collector.ts';
import { createBodyBudget } from '../../src/http/body-budget.ts';
import { HttpContext, splitUrl } from '../../src/http/request-context.ts';
import { createServer, type ServerOptions } from '../../src/http/server.ts';
import { protocolOf } from '../../src/protocols/index.ts';

async function start(context: TestContext, options: Partial<ServerOptions<HttpContext>> = {}) {
  const logged: { requestId?: string; cause?: string }[] = [];
  const log = { error: (line: object) => logged.push(line) } as unknown as Logger;
  const protocol = protocolOf('chat');
  const server = createServer<HttpContext>({
    requestTimeoutMs: 5_000,
    bodyLimit: () => 1_000_000,
    bodyBudget: createBodyBudget(1_000_000),
    log,
    protocolOf: () => protocol,
    createContext: (request, response) =>
      new HttpContext(request, response, { ...splitUrl(request.url), protocol, log }),
    admit: () => 'owner',
    handle: (exchange) => exchange.send({ body: { bytes: exchange.body.length } }),
    ...options,
  });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  context.after(() => server.close());
  async function post(body: string | ReadableStream) {
    const response = await fetch(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      body,
      ...(typeof body !== 'string' && { duplex: 'half' }),
    } as RequestInit);
    await response.text();
    return response;
  }
  return { post, logged };
}

function stream(...texts: string[]): ReadableStream {
  return ReadableStream.from(texts.map((text) => Buffer.from(text)));
}

describe('an error of the gateway', () => {
  const broken = () => {
    throw new Error('the gateway is broken');
  };

  async function assertLogged(response: Response, logged: { requestId?: string; cause?: string }[]): Promise<void> {
    assert.equal(response.status, 500);
    assert.equal(logged.length, 1);
    assert.equal(logged[0]?.requestId, response.headers.get('x-request-id'));
    assert.match(String(logged[0]?.cause), /the gateway is broken/);
  }

  test('amid a body', async (context) => {
    const bodyBudget = { open: () => ({ growTo: broken, release() {} }) };
    const { post, logged } = await start(context, { bodyBudget } as never);
    await assertLogged(await post('a'), logged);
  });

  test('at the end of a body', async (context) => {
    const { post, logged } = await start(context);
    context.mock.method(ByteCollector.prototype, 'take', broken);
    await assertLogged(await post(stream('a', 'b')), logged);
  });

  test('before the head is checked', async (context) => {
    const { post, logged } = await start(context, { createContext: broken });
    await assertLogged(await post('a'), logged);
  });

  test('in the checks of the head', async (context) => {
    const { post, logged } = await start(context, { admit: broken });
    await assertLogged(await post('a'), logged);
  });
});

test('a request without an error logs none', async (context) => {
  const { post, logged } = await start(context);
  assert.equal((await post(stream('a', 'b'))).status, 200);
  assert.deepEqual(logged, []);
});
