/** Video tasks over HTTP from their creation to their deletion, with the sandbox as the maker. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { startTestGateway, type TestGateway } from './harness.ts';
import { createVideoClock, VIDEO, type VideoClient, videoClient } from './video-client.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const UNKNOWN = '0b9e6c1e-0000-4000-8000-000000000000';
const OTHER_KEY = 'sk-test-other-key-0123456789';

let gateway: TestGateway;
let client: VideoClient;

before(async () => {
  gateway = await startTestGateway('', {
    keys: [`{ name: other, key: ${OTHER_KEY}, models: ['sandbox/echo'] }`],
    clock: createVideoClock(),
  });
  client = videoClient(gateway);
});
after(() => gateway.close());

function nulls(value: Json, path = ''): string[] {
  if (value === null) return [path];
  if (typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, inner]) => nulls(inner, `${path}.${name}`));
}

async function refused(
  response: Promise<{ status: number; headers: Headers; body: Json }>,
  status: number,
  code: string,
) {
  const { status: found, body, headers } = await response;
  assert.deepEqual({ status: found, code: body.error?.code }, { status, code }, JSON.stringify(body));
  assert.equal(headers.get('x-polygate-error'), code);
  return { error: body.error, headers };
}

describe('a task', { concurrency: true }, () => {
  test('is accepted at once with all that pollers need', async () => {
    const request = {
      ...VIDEO,
      seconds: '2',
      duration: undefined,
      aspect_ratio: '9:16',
      seed: 5,
      metadata: { a: 'b' },
      fps: 24,
    };
    const { status, headers, body } = await client.send('POST', '/v1/videos', request);
    assert.equal(status, 202);
    assert.match(body.id, UUID);
    assert.equal(headers.get('location'), `/v1/videos/${body.id}`);
    assert.equal(headers.get('retry-after'), '5');
    assert.equal(headers.get('openai-poll-after-ms'), '5000');
    const { created_at: created, updated_at: updated, ...rest } = body;
    assert.deepEqual(rest, {
      id: body.id,
      object: 'video',
      status: 'queued',
      model: 'sandbox/video',
      prompt: 'a cat',
      unsigned_urls: [],
      mirror_urls: [],
      polling_url: `${gateway.url}/v1/videos/${body.id}`,
      seconds: '2',
      size: '480x854',
      resolution: '480p',
      aspect_ratio: '9:16',
      seed: 5,
      metadata: { a: 'b' },
    });
    assert.ok(Number.isInteger(created) && Math.abs(created - Date.now() / 1000) < 60);
    assert.equal(updated, created);
  });

  test('ends as a video that its owner, and whoever has its signed address, can read', async () => {
    const { id } = await client.create({ n: 2 });
    const task = await client.until(id, 'completed');
    assert.deepEqual(nulls(task), []);
    assert.deepEqual(task.usage, { video_seconds: 2, video_cost: '0', cost: 0 });
    assert.equal(task.progress, 100);
    assert.ok(task.completed_at >= task.created_at && task.expires_at > task.completed_at);
    assert.deepEqual(
      task.unsigned_urls,
      [0, 1].map((index) => `${gateway.url}/v1/videos/${id}/content?index=${index}`),
    );
    assert.equal(task.mirror_urls.length, 2);
    const terminal = await client.send('GET', `/v1/videos/${id}`);
    assert.equal(terminal.headers.get('retry-after'), null);

    const own = await client.send('GET', `/v1/videos/${id}/content?index=1&variant=video`);
    assert.equal(own.status, 200);
    assert.equal(own.headers.get('content-type'), 'video/mp4');
    assert.equal(own.body.toString('latin1', 4, 8), 'ftyp');
    const anyone = await videoClient(gateway, '').send('GET', task.mirror_urls[1]);
    assert.deepEqual(anyone.body, own.body);
    await checkPartsOf(`/v1/videos/${id}/content?index=1`, own.body);
    await checkRefusals(id, task.mirror_urls[0]);

    const removed = await client.send('DELETE', `/v1/videos/${id}`);
    assert.deepEqual([removed.status, removed.body], [200, { id, object: 'video.deleted', deleted: true }]);
    await refused(client.send('GET', `/v1/videos/${id}`), 404, 'video_not_found');
    await refused(client.send('GET', `/v1/videos/${id}/content`), 404, 'video_not_found');
    await refused(client.send('DELETE', `/v1/videos/${id}`), 404, 'video_not_found');
    await refused(videoClient(gateway, '').send('GET', task.mirror_urls[0]), 404, 'video_not_found');
  });

  async function checkPartsOf(path: string, whole: Buffer): Promise<void> {
    const part = await client.send('GET', path, undefined, { range: 'bytes=4-7' });
    assert.deepEqual([part.status, part.body.toString()], [206, 'ftyp']);
    assert.equal(part.headers.get('content-range'), `bytes 4-7/${whole.length}`);
    const outside = await client.send('GET', path, undefined, { range: `bytes=${whole.length}-` });
    assert.equal(outside.status, 416);
    const head = await client.send('HEAD', path);
    assert.deepEqual([head.status, head.body.length], [200, 0]);
    assert.equal(head.headers.get('content-length'), String(whole.length));
    const etag = head.headers.get('etag') ?? '';
    assert.match(etag, /^"[0-9a-f]{64}"$/);
    assert.equal((await client.send('GET', path, undefined, { 'if-none-match': etag })).status, 304);
  }

  async function checkRefusals(id: string, address: string): Promise<void> {
    await refused(client.send('GET', `/v1/videos/${id}/content?index=2`), 400, 'invalid_request');
    await refused(client.send('GET', `/v1/videos/${id}/content?index=x`), 400, 'invalid_request');
    await refused(client.send('GET', `/v1/videos/${id}/content?variant=thumbnail`), 400, 'unsupported_variant');
    const anyone = videoClient(gateway, '');
    await refused(anyone.send('GET', address.replace('/0.mp4', '/1.mp4')), 403, 'invalid_signature');
    await refused(anyone.send('GET', address.replace(/exp=\d+/, 'exp=9999999999')), 403, 'invalid_signature');
    await refused(anyone.send('GET', address.replace(/\?.*/, '')), 403, 'invalid_signature');
    await refused(anyone.send('GET', `/v1/videos/${id}/content`), 401, 'invalid_api_key');
    await refused(anyone.send('POST', address, {}), 405, 'method_not_allowed');
  }

  for (const [word, status, code] of [
    ['fail', 'failed', 'upstream_error'],
    ['expire', 'expired', 'deadline_exceeded'],
  ] as const) {
    test(`whose prompt says ${word} ends as ${status}, with the reason as text`, async () => {
      const { id } = await client.create({ prompt: `please ${word}` });
      const task = await client.until(id, status);
      assert.equal(typeof task.error, 'string');
      assert.equal(task.error_code, code);
      assert.deepEqual(nulls(task), []);
      assert.deepEqual([task.unsigned_urls, task.mirror_urls], [[], []]);
      assert.deepEqual(task.usage, { video_seconds: 0, video_cost: '0', cost: 0 });
      const { headers } = await refused(client.send('GET', `/v1/videos/${id}/content`), 409, 'video_not_ready');
      assert.equal(headers.get('x-should-retry'), 'false');
      assert.equal((await client.send('POST', `/v1/videos/${id}/cancel`)).body.status, status);
    });
  }

  test('is cancelled, once and for all', async () => {
    const { id } = await client.create({ prompt: 'hang' });
    const running = await client.until(id, 'in_progress');
    assert.ok(running.progress >= 0 && running.progress < 100);
    const { headers } = await refused(client.send('DELETE', `/v1/videos/${id}`), 409, 'video_not_terminal');
    assert.equal(headers.get('x-should-retry'), 'false');
    await refused(client.send('GET', `/v1/videos/${id}/content`), 409, 'video_not_ready');
    await refused(client.send('POST', `/v1/videos/${id}/cancel`, { abandon: 'yes' }), 400, 'invalid_request');
    const asked = await client.send('POST', `/v1/videos/${id}/cancel`);
    assert.equal(asked.status, 200, JSON.stringify(asked.body));
    const task = await client.until(id, 'cancelled');
    assert.equal(task.error_code, 'cancelled');
    const again = await client.send('POST', `/v1/videos/${id}/cancel`, {});
    assert.deepEqual([again.status, again.body], [200, task]);
  });
});

describe('nobody learns of the tasks of others', () => {
  test('foreign, unknown and malformed ids are answered alike', async () => {
    const { id } = await client.create();
    const other = videoClient(gateway, OTHER_KEY);
    const tries: [VideoClient, string][] = [
      [other, id],
      [client, UNKNOWN],
      [client, 'video_1'],
    ];
    for (const [caller, name] of tries) {
      for (const [method, path] of [
        ['GET', ''],
        ['DELETE', ''],
        ['POST', '/cancel'],
        ['GET', '/content'],
        ['GET', '/deliveries'],
        ['POST', '/deliveries/replay'],
      ] as const) {
        await refused(caller.send(method, `/v1/videos/${name}${path}`), 404, 'video_not_found');
      }
    }
    assert.deepEqual((await other.send('GET', '/v1/videos')).body, { object: 'list', data: [], has_more: false });
  });

  test('every route but the list of models asks for a key', async () => {
    const nobody = videoClient(gateway, '');
    for (const [method, path] of [
      ['POST', ''],
      ['GET', ''],
      ['GET', `/${UNKNOWN}`],
      ['DELETE', `/${UNKNOWN}`],
      ['POST', `/${UNKNOWN}/cancel`],
      ['GET', `/${UNKNOWN}/content`],
      ['GET', `/${UNKNOWN}/deliveries`],
      ['POST', `/${UNKNOWN}/deliveries/replay`],
    ] as const) {
      await refused(nobody.send(method, `/v1/videos${path}`), 401, 'invalid_api_key');
    }
    assert.equal((await nobody.send('GET', '/v1/videos/models')).status, 200);
  });

  test('a key makes only what it may', async () => {
    const { error } = await refused(
      videoClient(gateway, OTHER_KEY).send('POST', '/v1/videos', VIDEO),
      403,
      'permission_denied',
    );
    assert.equal(error.param, 'model');
  });
});

describe('what is refused leaves nothing behind', () => {
  const CASES: [Json, number, string, string?][] = [
    [{ ...VIDEO, model: 'sandbox/nothing' }, 404, 'model_not_found', 'model'],
    [{ ...VIDEO, model: 'nobody/video' }, 404, 'model_not_found', 'model'],
    [{ ...VIDEO, model: 'sandbox/echo' }, 400, 'model_not_video', 'model'],
    [{ prompt: 'x' }, 400, 'invalid_request', 'model'],
    [{ ...VIDEO, duration: 99 }, 400, 'unsupported_parameter_value', 'duration'],
    [{ ...VIDEO, callback_url: 'http://example.com/hook' }, 400, 'invalid_callback_url', 'callback_url'],
    [{ ...VIDEO, callback_url: 'https://127.0.0.1/hook' }, 400, 'invalid_callback_url', 'callback_url'],
    [{ ...VIDEO, callback_url: 'https://169.254.169.254/' }, 400, 'invalid_callback_url', 'callback_url'],
    [{ ...VIDEO, input_reference: 'https://10.0.0.1/a.png' }, 400, 'invalid_request', 'input_reference'],
  ];
  for (const [body, status, code, param] of CASES) {
    test(`${code} ${JSON.stringify(body).slice(0, 80)}`, async () => {
      const before = (await client.send('GET', '/v1/videos?limit=100')).body.data.length;
      const { error } = await refused(client.send('POST', '/v1/videos', body), status, code);
      assert.equal(error.param, param);
      assert.equal((await client.send('GET', '/v1/videos?limit=100')).body.data.length, before);
    });
  }

  test('bodies that are no JSON and no form', async () => {
    await refused(
      client.send('POST', '/v1/videos', VIDEO, { 'content-type': 'text/plain' }),
      415,
      'unsupported_media_type',
    );
    await refused(
      client.send('POST', '/v1/videos', VIDEO, { 'content-encoding': 'gzip' }),
      415,
      'unsupported_media_type',
    );
    await refused(client.send('POST', '/v1/videos', 'text'), 400, 'invalid_request');
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    await refused(client.send('POST', '/v1/videos', VIDEO, headers), 400, 'invalid_request');
  });

  test('other methods', async () => {
    const { headers } = await refused(client.send('PUT', '/v1/videos', {}), 405, 'method_not_allowed');
    assert.equal(headers.get('allow'), 'GET, HEAD, POST');
  });
});

test('a form makes the same task as JSON', async () => {
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...VIDEO, duration: '1', seed: '9' })) form.append(name, value);
  const png = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  form.append('input_reference', new Blob([png]), 'first.png');
  const headers = { 'idempotency-key': 'form' };
  const byForm = await client.send('POST', '/v1/videos', form, headers);
  assert.equal(byForm.status, 202, JSON.stringify(byForm.body));
  const input_reference = { image_url: `data:image/png;base64,${png.toString('base64')}` };
  const byJson = await client.send('POST', '/v1/videos', { ...VIDEO, seed: 9, input_reference }, headers);
  assert.equal(byJson.body.id, byForm.body.id);
});

describe('the same request again', { concurrency: true }, () => {
  test('with its key is the same task, however many come at once', async () => {
    const headers = { 'idempotency-key': 'one' };
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => client.send('POST', '/v1/videos', VIDEO, headers)),
    );
    assert.equal(new Set(responses.map(({ body }) => body.id)).size, 1);
    assert.equal(responses.filter((response) => response.headers.get('idempotent-replayed') === 'true').length, 9);
    for (const { status } of responses) assert.equal(status, 202);
    const { headers: found } = await refused(
      client.send('POST', '/v1/videos', { ...VIDEO, prompt: 'a dog' }, headers),
      422,
      'idempotency_key_reused',
    );
    assert.equal(found.get('x-should-retry'), 'false');
    await refused(
      client.send('POST', '/v1/videos', VIDEO, { 'idempotency-key': 'x'.repeat(256) }),
      400,
      'invalid_request',
    );
  });

  test('is the same task if the client says that it tries again', async () => {
    const body = { prompt: 'tried again' };
    const first = await client.create(body);
    assert.equal((await client.create(body, { 'x-stainless-retry-count': '1' })).id, first.id);
    assert.notEqual((await client.create(body, { 'x-stainless-retry-count': '0' })).id, first.id);
  });

  test('is another task without either', async () => {
    assert.notEqual((await client.create()).id, (await client.create()).id);
  });
});
