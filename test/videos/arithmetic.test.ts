/** Money, prices, delays and budgets: figures in, figures out. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decimalOf, moneyOf, multiplyMoney } from '../../src/core/money.ts';
import type { TaskAsset, VideoDetails } from '../../src/records/video-task.ts';
import { detailsOf } from '../../src/videos/creation.ts';
import { failureDelay, pollDelay } from '../../src/videos/delay.ts';
import { createPollBudget } from '../../src/videos/poll-budget.ts';
import { costOfCompleted, costWithoutVideo, maxExpectedCost } from '../../src/videos/task-cost.ts';

const random = () => 0.5;

test('money is exact to 1e-12 USD', () => {
  for (const [decimal, money] of [
    ['0', 0n],
    ['3.20', 3_200_000_000_000n],
    ['.5', 500_000_000_000n],
    ['1e-12', 1n],
    ['0.0000000000005', 1n],
    ['0.0000000000004', 0n],
    ['-1.5', -1_500_000_000_000n],
    ['0.1', 100_000_000_000n],
  ] as const) {
    assert.equal(moneyOf(decimal), money, decimal);
  }
  assert.equal(decimalOf(3_200_000_000_000n), '3.2');
  assert.equal(decimalOf(1n), '0.000000000001');
  assert.equal(decimalOf(-1_500_000_000_000n), '-1.5');
  assert.equal(multiplyMoney(moneyOf('0.1'), '3'), moneyOf('0.3'));
  for (const nonsense of ['', '.', 'x', '1,5', '1e999', '99999999']) {
    assert.throws(() => moneyOf(nonsense), RangeError, nonsense);
  }
});

test('money survives encoding as a decimal and parsing', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }), (money) => moneyOf(decimalOf(money)) === money),
  );
});

test('the price of a resolution applies in each of its spellings', () => {
  const cost = (resolution: string, name: string) => {
    const given = { 'per-video-second': '0.10', [`per-video-second-${name}`]: '0.60' };
    return decimalOf(costOfCompleted({ duration: 8, count: 1, prices: given, resolution }, {}, [asset]).cost);
  };
  for (const [resolution, name] of [
    ['4K', '4k'],
    ['4k', '2160p'],
    ['2160p', '4k'],
    ['1080P', '1080p'],
    ['2K', '1440p'],
  ] as const) {
    assert.equal(cost(resolution, name), '4.8', `${resolution} by ${name}`);
  }
  assert.equal(cost('720p', '4k'), '0.8');
});

test('a task by tokens holds the most that its resolution may cost, whatever shape the provider chooses', () => {
  const held = (details: Partial<VideoDetails>) =>
    Number(
      decimalOf(
        maxExpectedCost({ duration: 5, count: 1, prices: { 'per-video-token': '0.000007' }, ...details }) ?? 0n,
      ),
    );
  for (const resolution of ['720p', '1080p', '4k']) {
    const size = { '720p': '1280x720', '1080p': '1920x1080', '4k': '3840x2160' }[resolution];
    assert.ok(held({ resolution }) >= held({ resolution, size }), resolution);
  }
  assert.equal(held({}), held({ size: '1920x1080' }));
});

test('a task of a resolution that is not known holds the highest price by the second, and is charged the plain one', () => {
  const given = { 'per-video': '0.5', 'per-video-second': '0.10', 'per-video-second-4k': '0.60' };
  const details: VideoDetails = { duration: 8, count: 1, prices: given };
  const held = (more: Partial<VideoDetails> = {}) => decimalOf(maxExpectedCost({ ...details, ...more }) ?? 0n);
  assert.equal(held(), '5.3');
  assert.equal(held({ size: '3840x1600' }), '5.3');
  assert.equal(held({ resolution: '720p' }), '1.3');
  assert.equal(held({ prices: { ...given, 'per-video-second-audio': '0.9' } }), '7.7');
  assert.equal(held({ audio: false, prices: { ...given, 'per-video-second-audio': '0.9' } }), '5.3');
  assert.equal(decimalOf(costOfCompleted(details, {}, [asset]).cost), '1.3');
});

const asset: TaskAsset = { source: { inline: true } };
const prices = {
  'per-video-second': '0.10',
  'per-video-second-1080p': '0.20',
  'per-video-second-1080p-audio': '0.40',
  'per-video-second-audio': '0.30',
};

test('the most specific price applies, with audio unless it is disabled', () => {
  const cost = (details: Partial<VideoDetails>) =>
    decimalOf(costOfCompleted({ duration: 8, count: 1, prices, ...details }, {}, [asset]).cost);
  assert.equal(cost({ resolution: '1080p' }), '3.2');
  assert.equal(cost({ resolution: '1080p', audio: false }), '1.6');
  assert.equal(cost({ resolution: '720p', audio: true }), '2.4');
  assert.equal(cost({ resolution: '720p', audio: false }), '0.8');
  assert.equal(cost({ prices: { 'per-video': '0.7' }, count: 2 }), '0.7');
  assert.equal(cost({ prices: {} }), '0');
});

test('a video whose resolution is unknown, or has no price, costs the highest price per second, as is held', () => {
  const ofResolutions = {
    'per-video-second-720p': '0.10',
    'per-video-second-1080p': '0.30',
    'per-video-second-1080p-audio': '0.5',
    'per-video-second-480p-audio': '0.4',
  };
  const cost = (details: Partial<VideoDetails>) => {
    const task = { duration: 8, count: 1, prices: ofResolutions, ...details };
    const held = maxExpectedCost(task);
    assert.equal(costOfCompleted(task, {}, [asset]).cost, held);
    return decimalOf(held ?? 0n);
  };
  assert.equal(cost({}), '4');
  assert.equal(cost({ audio: false }), '2.4');
  assert.equal(cost({ size: '1104x832' }), '4');
  assert.equal(cost({ resolution: '4k', audio: false }), '2.4');
  assert.equal(cost({ audio: false, prices: { 'per-video-second-audio': '0.2' } }), '1.6');
  assert.equal(cost({ resolution: '720p' }), '0.8');
  assert.equal(cost({ prices: { 'per-video': '0.7', 'per-video-second-1080p': '0.1' } }), '0.7');
});

test('tokens are charged for models with token prices', () => {
  const details = { count: 1, prices: { 'per-video-token': '0.0000012' } };
  assert.equal(decimalOf(costOfCompleted(details, { tokens: 246_840 }, [asset]).cost), '0.296208');
});

test('seconds come from the upstream, otherwise from the files, otherwise from the request', () => {
  const kept = (seconds?: number): TaskAsset => ({
    ...asset,
    kept: { file: 'f', sha256: 's', bytes: 1, mime: 'video/mp4', seconds },
  });
  const details = { duration: 5, count: 2 };
  const seconds = (charge: { seconds?: number }, assets: TaskAsset[]) =>
    costOfCompleted(details, charge, assets).seconds;
  assert.equal(seconds({ seconds: 7.6 }, [kept(1)]), 8);
  assert.equal(seconds({ seconds: 0.2 }, [kept(1)]), 1);
  assert.equal(seconds({}, [kept(3.4), kept(0.1)]), 4);
  assert.equal(seconds({}, [kept(3.4), kept()]), 10);
  assert.equal(seconds({}, [asset]), 5);
  assert.equal(costOfCompleted({ count: 1 }, {}, [asset]).seconds, 1);
  const request = { count: 1, resolution: '720p' };
  const unknown = detailsOf({ model: { video: { durations: [4, 12, 8] } }, request } as never);
  assert.equal(costOfCompleted(unknown, {}, [asset]).seconds, 12, 'the longest, as was held');
  assert.equal(costOfCompleted({ ...unknown, prices }, {}, [asset]).cost, maxExpectedCost({ ...unknown, prices }));
});

test('an implausible charge is ignored', () => {
  for (const cost of ['x', '-1', '1e30', '', `0.${'1'.repeat(100_000)}`]) {
    assert.deepEqual(costWithoutVideo({ cost }), { seconds: 0, cost: 0n, source: 'none' });
  }
});

test('the poll interval grows to 20 seconds, and is a minute after ten minutes', () => {
  const delays = [0, 1, 2, 5, 6, 50].map((polls) => pollDelay({ polls, elapsedMs: 0, random }));
  assert.deepEqual(delays, [5000, 6500, 8450, 18_565, 20_000, 20_000]);
  assert.equal(pollDelay({ polls: 50, elapsedMs: 600_000, random }), 60_000);
  assert.equal(pollDelay({ polls: 0, elapsedMs: 0, minIntervalMs: 30_000, random }), 30_000);
  assert.equal(pollDelay({ polls: 0, elapsedMs: 0, retryAfter: 90_000, random }), 90_000);
  assert.equal(pollDelay({ polls: 6, elapsedMs: 0, random: () => 0 }), 16_000);
  assert.equal(pollDelay({ polls: 6, elapsedMs: 0, random: () => 1 }), 24_000);
});

test('retry delays grow to five minutes, or follow Retry-After', () => {
  const delays = [1, 2, 3, 6, 7, 1000].map((failures) => failureDelay({ failures, random }));
  assert.deepEqual(delays, [5000, 10_000, 20_000, 160_000, 300_000, 300_000]);
  assert.equal(failureDelay({ failures: 1, retryAfter: 120_000, random }), 120_000);
  assert.equal(failureDelay({ failures: 1, retryAfter: 1e9, random }), 3_600_000);
});

test('the poll budget gives each task its own slot within the rate', () => {
  const budget = createPollBudget({ rate: 10, burst: 2 });
  const moments = Array.from({ length: 100 }, (_, index) => budget.reserve('a', `${index}`, 1_000_000));
  assert.deepEqual(moments.slice(0, 4), [1_000_000, 1_000_000, 1_000_100, 1_000_200]);
  assert.equal(moments.at(-1), 1_000_000 + 98 * 100);
  assert.equal(budget.reserve('a', '50', 1_000_000), moments[50], 'who asks again keeps the moment');
  assert.equal(budget.reserve('a', '50', moments[50] ?? 0), moments[50]);
  assert.equal(budget.reserve('b', '0', 1_000_000), 1_000_000, 'another key has its own');
});

test('a slot that was taken for a task is used by its next reservation', () => {
  const budget = createPollBudget({ rate: 10, burst: 2 });
  assert.deepEqual(budget.free(1_000_000), { lanes: {}, unlisted: 2 });
  budget.take('a', '1', 1_000_000);
  assert.deepEqual(budget.free(1_000_000).lanes, { a: 1 });
  budget.take('a', '2', 1_000_000);
  budget.take('a', '2', 1_000_000);
  assert.deepEqual(budget.free(1_000_000).lanes, { a: 0 });
  assert.equal(budget.reserve('a', '1', 1_000_900), 1_000_900);
  assert.equal(budget.reserve('a', '3', 1_000_000), 1_000_100, 'the burst is used up');
  assert.deepEqual(budget.free(1_000_200).lanes, { a: 1 });
  assert.deepEqual(budget.free(1_009_000).lanes, { a: 2 });
});

test('gateways that share a store share the poll rate', () => {
  const budget = createPollBudget({ rate: 10, burst: 2, gateways: () => 4 });
  const moments = Array.from({ length: 50 }, (_, index) => budget.reserve('a', `${index}`, 1_000_000));
  assert.deepEqual(moments.slice(0, 3), [1_000_200, 1_000_600, 1_001_000]);
});

test('a clock that is set back delays no poll', () => {
  const budget = createPollBudget({ rate: 10, burst: 2 });
  const hour = 3_600_000;
  const start = 10 * hour;
  const moments = Array.from({ length: 20 }, (_, index) => budget.reserve('a', `${index}`, start));
  budget.take('b', 'first', start);
  budget.take('b', 'second', start);
  assert.equal(budget.free(start).lanes.b, 0);
  const back = start - hour;
  assert.deepEqual(budget.free(back).lanes, { a: 0, b: 0 });
  assert.equal(budget.reserve('a', '19', back), (moments[19] ?? 0) - hour);
  assert.equal(budget.reserve('b', 'first', back), back);
  assert.deepEqual(budget.free(back + 2000).lanes, { a: 2, b: 2 });
  assert.equal(budget.reserve('b', 'third', back + 2000), back + 2000);
});

test('missed slots are not made up for in a burst', () => {
  const budget = createPollBudget({ rate: 10, burst: 5 });
  const start = 1_000_000;
  const due = new Map(Array.from({ length: 200 }, (_, task) => [task, budget.reserve('a', `${task}`, start)]));
  const polled: number[] = [];
  for (let now = start + 8_000; now < start + 18_000; now += 10) {
    for (const [task, moment] of due) {
      if (moment > now) continue;
      const next = budget.reserve('a', `${task}`, now);
      if (next > now) due.set(task, next);
      else {
        due.delete(task);
        polled.push(now);
      }
    }
  }
  const inFirstSecond = polled.filter((at) => at < start + 9_000).length;
  assert.ok(inFirstSecond <= 5 + 10 + 1, `${inFirstSecond} in the first second`);
  for (let from = start + 9_000; from < start + 18_000; from += 1_000) {
    const count = polled.filter((at) => at >= from && at < from + 1_000).length;
    assert.ok(count >= 9 && count <= 11, `${count} in a later one`);
  }
});
