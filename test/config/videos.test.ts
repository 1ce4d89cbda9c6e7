/** The settings of videos and webhooks. */

import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { configOf } from './sources.ts';

describe('videos and webhooks', () => {
  test('have defaults', () => {
    const { videos, callbacks, network, encryption } = configOf('');
    assert.deepEqual(videos.mirror, { type: 'local' });
    assert.equal(videos.maxSize, 2 * 1024 ** 3);
    assert.equal(videos.urlLifetimeMs, 24 * 3600_000);
    assert.equal(videos.keepMediaMs, 7 * 24 * 3600_000);
    assert.equal(videos.dedupeWindowMs, undefined);
    assert.equal(callbacks.timeout, 10_000);
    assert.equal(callbacks.secret, undefined);
    assert.deepEqual(callbacks.allowCidrs, []);
    assert.deepEqual(network.dnsServers, []);
    assert.deepEqual(encryption.keys, []);
  });

  test('are taken from the file', () => {
    const { videos, callbacks, network } = configOf(`
network: { dns_servers: [10.0.0.2, "10.0.0.3:5353", "[::1]"] }
callbacks: { secret: whsec_0123456789abcdef, allow_cidrs: [10.0.0.0/8], honor_retry_after: true }
videos:
  mirror: s3
  s3: { endpoint: https://s3.example.com/, bucket: videos, access_key_id: id, secret_access_key: secret-of-the-store }
`);
    assert.deepEqual(network.dnsServers, ['10.0.0.2:53', '10.0.0.3:5353', '[::1]:53']);
    assert.equal(callbacks.secret?.reveal(), 'whsec_0123456789abcdef');
    assert.ok(callbacks.honorRetryAfter);
    const { mirror } = videos;
    assert.ok(mirror.type === 's3');
    assert.equal(mirror.endpoint, 'https://s3.example.com');
    assert.equal(mirror.secretAccessKey.reveal(), 'secret-of-the-store');
    assert.ok(!JSON.stringify(videos).includes('secret-of-the-store'));
  });

  test('a proxy is a secret, and the hosts without it are a list, or several in one text', () => {
    const { network } = configOf(`
network: { proxy: "http://user:of-the-proxy@proxy.example:3128", no_proxy: [vllm.internal, ".corp.example, 10.0.0.2"] }
`);
    assert.equal(network.proxy?.url.reveal(), 'http://user:of-the-proxy@proxy.example:3128');
    assert.deepEqual(network.proxy.direct, ['vllm.internal', '.corp.example', '10.0.0.2']);
    assert.ok(!JSON.stringify(network).includes('of-the-proxy'));
    assert.equal(configOf('').network.proxy, undefined);
  });

  test('notices have shares in order, and an address that is a secret', () => {
    const { notices } = configOf(`
callbacks: { secret: whsec_0123456789abcdef }
notices: { webhook: "https://ops.example.org/polygate?token=of-the-receiver", at: [1, 0.5] }
`);
    assert.deepEqual(notices?.at, [0.5, 1]);
    assert.equal(notices?.secret.reveal(), 'whsec_0123456789abcdef');
    assert.ok(!JSON.stringify(notices).includes('of-the-receiver'));
    const { notices: simple } = configOf(
      'callbacks: { secret: whsec_0123456789abcdef }\nnotices: { webhook: "https://ops.example.org/" }',
    );
    assert.deepEqual(simple?.at, [0.8, 1]);
    assert.equal(configOf('').notices, undefined);
  });

  test('facts about models are updated daily, weekly, or not at all', () => {
    assert.deepEqual(configOf('').catalog, { source: 'https://models.dev/api.json' });
    assert.equal(configOf('catalog: { update: daily }').catalog.updateMs, 24 * 3600_000);
    assert.equal(configOf('catalog: { update: weekly }').catalog.updateMs, 7 * 24 * 3600_000);
  });

  test('a database is a secret and files keep their folder', () => {
    const { data, postgres } = configOf('data: postgres://user:password@db/polygate');
    assert.equal(data, resolve('data'));
    assert.equal(postgres?.reveal(), 'postgres://user:password@db/polygate');
    assert.ok(!String(postgres).includes('password'));
    for (const url of [
      'postgres://user:password@/polygate?host=/run/postgresql',
      'postgres://user:password@%2Frun%2Fpostgresql/polygate',
      'postgres://user:%40%3A%2F%3F%23@[::1]:5432/polygate?sslrootcert=/etc/a%40b.pem',
      'postgres:///polygate',
    ])
      assert.equal(configOf(`data: '${url}'`).postgres?.reveal(), url);
  });
});
