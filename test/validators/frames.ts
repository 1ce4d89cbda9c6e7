/** Grammar common to all streams: blocks, strictly read, and the end of a stream. */

import assert from 'node:assert/strict';
import type { Json } from '../../src/core/json/json.ts';

export interface CheckedStream {
  ending: 'complete' | 'error';
  /** The data of every event in order, parsed; an error's included, `[DONE]` and comments not. */
  data: Json[];
}

export interface Block {
  event?: string;
  /** One line; undefined in a block of comments. */
  data?: string;
}

/** Stricter than what clients must read: every block ends in a blank line, comments stand alone, data is one line. */
export function blocksOf(text: string): Block[] {
  assert.ok(text.length > 0, 'the stream is empty');
  assert.ok(/\n\r?\n$/.test(text), `the stream does not end with a blank line: ${JSON.stringify(text.slice(-80))}`);
  return text
    .split(/\r?\n\r?\n/)
    .slice(0, -1)
    .map(blockOf);
}

function blockOf(text: string): Block {
  assert.ok(text.length > 0, 'two blank lines follow each other');
  const lines = text.split(/\r?\n/);
  if (lines.every((line) => line.startsWith(':'))) return {};
  const block: Block = {};
  for (const line of lines) {
    const [, name, value] = /^(event|data): (.*)$/s.exec(line) ?? assert.fail(`not a line of an event: ${line}`);
    assert.ok(block.data === undefined, `a line follows the data of its event: ${line}`);
    if (name === 'event') block.event = value;
    else block.data = value;
  }
  assert.ok(block.data !== undefined, `an event without data: ${text}`);
  return block;
}

export function objectOf(data: string): Json {
  const value: Json = JSON.parse(data);
  assertObject(value, 'data');
  return value;
}

export function assertObject(value: Json, what: string): void {
  assert.ok(
    value !== null && typeof value === 'object' && !Array.isArray(value),
    `${what} is not an object: ${JSON.stringify(value)}`,
  );
}

export function assertKeys(value: Json, allowed: readonly string[], what: string): void {
  assertObject(value, what);
  const unknown = Object.keys(value).filter((key) => !allowed.includes(key));
  assert.deepEqual(unknown, [], `unknown members of ${what}`);
}

/** Empty text stands for no arguments at all. */
export function assertArguments(text: string, what: string): void {
  assertObject(JSON.parse(text === '' ? '{}' : text), what);
}

export function assertCount(value: unknown, what: string): asserts value is number {
  assert.ok(Number.isSafeInteger(value) && (value as number) >= 0, `${what} is not a count: ${value}`);
}
