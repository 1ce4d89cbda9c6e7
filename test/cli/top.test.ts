/** `polygate top`: what it shows, what keys change, and the page beside running gateways, on both engines. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawScreen, FIRST_STATE, press, type ScreenState } from '../../src/cli/top/screen.ts';
import { cooldownsOf, type TopRequest, type TopView } from '../../src/cli/top/view.ts';
import { ask, ENGINES, startGateways } from './two-gateways.ts';

const SIZE = { columns: 120, rows: 20 };
const ATTEMPTS = [
  { endpoint: 'a/m', started_ms: 2, first_byte_ms: null, total_ms: 90, status: 429, error: 'rate_limit_exceeded' },
  { endpoint: 'b/m', started_ms: 95, first_byte_ms: 300, total_ms: 800, status: 200, error: null },
].map((attempt) => ({
  ...attempt,
  ...{ credential: null, path: 'translated', dropped: [], note: null },
  ...{ connect_ms: 0, cooldown_ms: null, response_headers: {} },
}));

function request(number: number, more: Partial<TopRequest> = {}): TopRequest {
  return {
    id: `req_${number}`,
    time: Date.UTC(2026, 10, 23, 10, 0, number),
    key: 'ci',
    requested: 'fast',
    model: `b/m${number}`,
    protocols: 'messages to chat',
    state: 'completed',
    tokens: '12/5',
    cost: '0.0015',
    firstByte: 300,
    total: 895,
    dropped: ['top_k'],
    toolFailures: 2,
    attempts: ATTEMPTS,
    ...more,
  };
}

function view(requests: TopRequest[]): TopView {
  return {
    span: 300_000,
    running: 1,
    perMinute: 7.25,
    hourlyCost: '1.2',
    unknownCosts: 0,
    failedShare: 0.125,
    partial: 2,
    interrupted: 0,
    firstByte: { p50: 300, p95: 900 },
    total: { p50: null, p95: null },
    endpoints: [
      { endpoint: 'a/m', requests: 0, failed: 0, firstByte: null, total: null, cooldown: 17_400 },
      { endpoint: 'b/m', requests: 36, failed: 4, firstByte: 300, total: 800, cooldown: null },
    ],
    requests,
  };
}

function pressAll(keys: string[], on: TopView): ScreenState {
  return keys.reduce((state, key) => press(state, key, on), FIRST_STATE);
}

test('the page has rates, endpoints and requests, each line cut to the terminal', () => {
  const lines = drawScreen(view([request(1), request(2)]), FIRST_STATE, SIZE);
  assert.match(
    lines[0] ?? '',
    /^in flight 1 {3}7\.3 requests\/min {3}\$1\.2\/h {3}first byte p50 300 ms, p95 900 ms {3}whole p50 -/,
  );
  const text = lines.join('\n');
  assert.match(text, /^a\/m +0 +0 +- +- +cooldown 18 s$/m);
  assert.match(text, /^b\/m +36 +4 +300 ms +800 ms *$/m);
  assert.match(text, /^> +10:00:01 +ci +b\/m1 +completed +12\/5 +\$0\.0015 +300 ms \/ 895 ms$/m);
  assert.match(text, /^ +10:00:02/m);
  const unknown = { ...view([request(3, { cost: null })]), hourlyCost: null, unknownCosts: 1 };
  const withUnknown = drawScreen(unknown, FIRST_STATE, SIZE).join('\n');
  assert.match(withUnknown, /^in flight 1 {3}7\.3 requests\/min {3}unknown\/h, of 1 unknown {3}/);
  assert.match(withUnknown, /^> .* completed +12\/5 +unknown +300 ms/m);
  const running = drawScreen(view([request(4, { cost: null, state: 'running' })]), FIRST_STATE, SIZE).join('\n');
  assert.match(running, /^> .* running +12\/5 +- +300 ms/m);
  const many = view(Array.from({ length: 500 }, (_, number) => request(number)));
  for (const size of [SIZE, { columns: 30, rows: 8 }, { columns: 1, rows: 1 }]) {
    const drawn = drawScreen(many, { ...FIRST_STATE, selected: 499 }, size);
    assert.ok(drawn.length <= size.rows && drawn.every((line) => line.length <= size.columns));
  }
  assert.match(drawScreen(many, { ...FIRST_STATE, selected: 499 }, SIZE).join('\n'), /^> .*b\/m499/m);
});

test('an endpoint rests as its attempts tell, until one succeeds', () => {
  const now = Date.UTC(2026, 10, 23, 10);
  const attempt = { ...(ATTEMPTS[0] as (typeof ATTEMPTS)[number]), started_ms: 0, total_ms: 100 };
  const failed = { ...attempt, cooldown_ms: 20_000 };
  const answered = { ...attempt, error: null, status: 200 };
  const at = (secondsAgo: number, ...attempts: (typeof failed)[]) => ({
    time: now - secondsAgo * 1000,
    total: 100,
    attempts: attempts as TopRequest['attempts'],
  });
  // The newest are first.
  assert.deepEqual([...cooldownsOf([at(5, failed as never)], now)], [['a/m', 15_000]]);
  assert.deepEqual([...cooldownsOf([at(2, answered as never), at(5, failed as never)], now)], []);
  assert.deepEqual([...cooldownsOf([at(5, failed as never), at(8, answered as never)], now)], [['a/m', 15_000]]);
  assert.deepEqual([...cooldownsOf([at(30, failed as never)], now)], []);
  const second = { ...failed, credential: 2 };
  assert.deepEqual([...cooldownsOf([at(1, second as never), at(5, failed as never)], now)], [['a/m', 19_000]]);
});

test('keys choose a request, open it with its attempts, filter and end', () => {
  const shown = view([request(1), request(2), request(3, { attempts: undefined })]);
  assert.equal(pressAll(['j', 'j', 'j', 'j'], shown).selected, 2);
  assert.equal(pressAll(['j', '\x1b[B', 'k', '\x1b[A', 'k'], shown).selected, 0);
  const opened = drawScreen(shown, pressAll(['j', '\r'], shown), SIZE).join('\n');
  assert.match(opened, /req_2 .*\nasked for fast, messages to chat, dropped: top_k, tools that failed: 2\n/);
  assert.match(opened, /^1 +a\/m +2 ms +- +90 ms +429 rate_limit_exceeded$/m);
  assert.match(opened, /^2 +b\/m +95 ms +300 ms +800 ms +200$/m);
  assert.match(drawScreen(shown, pressAll(['j', 'j', '\r'], shown), SIZE).join('\n'), /trace is not kept/);
  assert.equal(pressAll(['\r', '\x1b'], shown).isOpen, false);

  const typing = pressAll(['/', 'M', '3', 'x', '\x7f', 'q'], shown);
  assert.deepEqual([typing.filter, typing.isTyping, typing.isOver], ['M3q', true, false]);
  const filtered = drawScreen(shown, pressAll(['/', 'M', '3', '\r'], shown), SIZE).join('\n');
  assert.match(filtered, /b\/m3/);
  assert.doesNotMatch(filtered, /b\/m1/);
  assert.equal(pressAll(['/', 'M', '3', '\r', '\x1b'], shown).filter, '');
  assert.ok(pressAll(['q'], shown).isOver && pressAll(['/', '\x03'], shown).isOver);
});

test('texts of clients cannot control the terminal', () => {
  const hostile = view([request(1, { key: '\x1b[2J', state: 'failed\n\x07' })]);
  for (const keys of [[], ['\r'], ['/', '\x1b]0;a']])
    for (const line of drawScreen(hostile, pressAll(keys, hostile), SIZE)) assert.doesNotMatch(line, /\p{Cc}/u);
});

for (const engine of ENGINES) {
  test(`beside its gateways it prints its page and JSON once where there is no terminal (${engine})`, async (context) => {
    const { run, gateways } = await startGateways(context, engine);
    const count = gateways.length;
    for (const { url, output } of gateways) {
      await ask(url);
      await output.shows(/"msg":"answered"/);
    }
    const page = () => run(['top']);
    const ended = (stdout: string) => stdout.split('completed').length - 1;
    let { stdout } = await page();
    while (ended(stdout) < count) ({ stdout } = await page());
    assert.equal(ended(stdout), count);
    assert.match(
      stdout,
      new RegExp(
        `^in flight 0 .*\\n\\nENDPOINT[\\s\\S]*\\nsandbox/echo +${count} +0 [\\s\\S]*> +\\S+ +ci +sandbox/echo +completed`,
      ),
    );
    const json = JSON.parse((await run(['top', '--json', '--key', 'ci', '--model', 'sandbox/echo'])).stdout);
    const requests: TopRequest[] = json.requests;
    assert.equal(new Set(requests.map(({ id }) => id)).size, count);
    assert.deepEqual(
      requests.map(({ key, model, state, cost, attempts }) => [key, model, state, typeof cost, attempts?.length]),
      Array.from({ length: count }, () => ['ci', 'sandbox/echo', 'completed', 'string', 1]),
    );
    assert.deepEqual([json.requests[0].attempts[0].endpoint, json.running], ['sandbox/echo', 0]);
    assert.deepEqual(
      json.endpoints.map(({ endpoint, requests, failed }: { endpoint: string; requests: number; failed: number }) => [
        endpoint,
        requests,
        failed,
      ]),
      [['sandbox/echo', count, 0]],
    );
    assert.match((await run(['top', '--key', 'nobody'])).stderr, /no key with the id or name "nobody"/);
  });
}
