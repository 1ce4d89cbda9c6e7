import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { localUrl } from '../../src/config/host.ts';
import { formatDuration, formatSize, parseDuration, parseMoment, parseSize } from '../../src/config/units.ts';
import { isLoopback } from '../../src/core/loopback.ts';
import { nearest } from '../../src/core/nearest.ts';

describe('durations and sizes', () => {
  test('are read', () => {
    assert.equal(parseDuration('500ms'), 500);
    assert.equal(parseDuration('90s'), 90_000);
    assert.equal(parseDuration('30d'), 30 * 86_400_000);
    assert.equal(parseSize('20MiB'), 20 * 1024 * 1024);
    assert.equal(parseMoment('2027-01-31'), Date.UTC(2027, 0, 31));
    assert.equal(parseMoment('2027-01-31T12:00:00+01:00'), Date.UTC(2027, 0, 31, 11));
  });

  test('are refused when invalid', () => {
    for (const text of ['', '5', 's', '-5s', '5 s', '5y', '5constructor', '1e3s'])
      assert.equal(parseDuration(text), undefined, text);
    for (const text of ['20MB', '20']) assert.equal(parseSize(text), undefined, text);
    for (const text of ['tomorrow', '2027-13-01', '2027-02-30', '2027-04-31T00:00:00Z', '2027', '31.01.2027', ''])
      assert.equal(parseMoment(text), undefined, text);
  });

  test('are written as they are read', () => {
    for (const text of ['1ms', '1500ms', '5s', '90s', '5m', '1h', '24h', '36h', '7d'])
      assert.equal(formatDuration(parseDuration(text) as number), text);
    for (const text of ['512KiB', '20MiB']) assert.equal(formatSize(parseSize(text) as number), text);
  });
});

test('spelling suggestions are close to the name', () => {
  const known = ['server', 'data', 'keys', 'providers'];
  assert.equal(nearest('sever', known), 'server');
  assert.equal(nearest('provdiers', known), 'providers');
  assert.equal(nearest('Keys', known), 'keys');
  assert.equal(nearest('dtaa', known), 'data');
  assert.equal(nearest('logging', known), undefined);
  assert.equal(nearest('x', known), undefined);
});

test('loopback addresses are recognized', () => {
  for (const host of ['127.0.0.1', '127.9.9.9', '::1', 'localhost']) assert.ok(isLoopback(host), host);
  for (const host of ['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example.com', 'example.com', ''])
    assert.ok(!isLoopback(host), host);
  assert.equal(localUrl({ host: '0.0.0.0', port: 1 }), 'http://127.0.0.1:1');
  assert.equal(localUrl({ host: '::', port: 1 }), 'http://[::1]:1');
});
