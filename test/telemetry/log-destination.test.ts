/** The log of a process: its writes are few, and its lines complete however the process ends. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openLogDestination } from '../../src/telemetry/log-destination.ts';
import { createManualClock } from '../jobs/manual-clock.ts';

const LINES = 1000;
/** The longest time that a line waits. */
const FLUSH_DELAY_MS = 200;
const modules = new URL('../../src/telemetry/', import.meta.url);
const PROGRAM = `
  import { createLog, logLastError } from '${new URL('log.ts', modules)}';
  import { openLogDestination } from '${new URL('log-destination.ts', modules)}';
  const lines = openLogDestination(2);
  const log = createLog(lines);
  logLastError(log);
  lines.startBuffering();
  for (let number = 0; number < ${LINES}; number += 1) log.info({ number, text: 'é'.repeat(number % 300) }, 'line');
`;

/** Runs the program with an end of its own; returns its log, in the order written. */
async function runProgram(end: string): Promise<{ log: string[]; code: number | null; signal: string | null }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM + end], {
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 30_000,
    killSignal: 'SIGKILL',
  });
  let written = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    written += text;
  });
  const [code, signal] = await once(child, 'close');
  return { log: written.split('\n'), code, signal };
}

function assertComplete(log: readonly string[]): void {
  const numbers = log.slice(0, LINES).map((line) => JSON.parse(line).number);
  assert.deepEqual(
    numbers,
    Array.from({ length: LINES }, (_, index) => index),
  );
}

describe('no line is lost or torn when a process ends', () => {
  for (const [name, end, code, signal] of [
    ['by itself', '', 0, null],
    ['by an exit', 'process.exit(3);', 3, null],
    ['by an error that nobody caught', 'throw new Error("unforeseen");', 1, null],
    [
      'by a rejection that nobody handled',
      'Promise.reject(new Error("unforeseen")); setTimeout(() => {}, 9e4);',
      1,
      null,
    ],
    ['by SIGQUIT', 'process.kill(process.pid, "SIGQUIT"); setTimeout(() => {}, 9e4);', null, 'SIGQUIT'],
  ] as const) {
    test(name, { skip: signal !== null && process.platform === 'win32' }, async () => {
      const outcome = await runProgram(end);
      assertComplete(outcome.log);
      assert.deepEqual([outcome.code, outcome.signal], [code, signal]);
    });
  }

  const full = 'fs.writeSync = () => { throw Object.assign(new Error("no space"), { code: "ENOSPC" }); };';

  test('lines that a full disk did not take are written at the end, where it takes them then', async () => {
    const end = `
      const { default: fs } = await import('node:fs');
      const { writeSync } = fs;
      ${full}
      log.error('not written at once');
      fs.writeSync = writeSync;
      process.exit(3);`;
    const { log, code } = await runProgram(end);
    assertComplete(log);
    assert.deepEqual([JSON.parse(log[LINES] ?? '').msg, code], ['not written at once', 3]);
  });

  test('a disk that stays full does not hold up the end', async () => {
    const end = `const { default: fs } = await import('node:fs'); ${full}`;
    for (const last of ['process.exit(3);', 'log.error("not written"); process.exit(3);'])
      assert.equal((await runProgram(`${end} ${last}`)).code, 3);
  });

  test('the lines precede the error that ends it', async () => {
    const { log } = await runProgram('throw new Error("unforeseen");');
    assert.ok(log.findIndex((line) => line.includes('Error: unforeseen')) >= LINES, log.slice(LINES).join('\n'));
  });

  for (const [origin, end, error] of [
    ['uncaughtException', 'setTimeout(() => { throw new Error("with sk-pg-0123456789"); }, 1);', 'with [redacted]'],
    ['unhandledRejection', 'Promise.reject(new Error("unforeseen")); setTimeout(() => {}, 9e4);', 'unforeseen'],
    ['uncaughtException', 'setTimeout(() => { throw null; }, 1);', 'null'],
  ] as const) {
    test(`the last line says why: ${origin}, ${error}`, async () => {
      const { log, code } = await runProgram(end);
      const last = JSON.parse(log[LINES] ?? '');
      assert.deepEqual([last.level, last.error, last.origin, code], [60, error, origin, 1]);
    });
  }

  test('lines before the buffer are written at once, also those of a process that is killed', async () => {
    const end = 'process.kill(process.pid, "SIGKILL");';
    const { log } = await runProgram(`log.error('the last one'); ${end}`);
    assertComplete(log);
    assert.equal(JSON.parse(log[LINES] ?? '').msg, 'the last one');
  });
});

describe('the file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-log-'));
  test.after(() => rmSync(folder, { recursive: true, force: true }));

  function openFile(name: string) {
    const path = join(folder, name);
    const fd = openSync(path, 'a');
    const clock = createManualClock(0);
    test.after(() => {
      // Lines that wait after a failure are written before their descriptor is that of something else.
      clock.advance(FLUSH_DELAY_MS);
      closeSync(fd);
    });
    return { clock, lines: openLogDestination(fd, { clock }), read: () => readFileSync(path, 'utf8') };
  }

  test('has each line at once before the buffer, then once 8 kB or 200 ms have passed', () => {
    const { clock, lines, read } = openFile('a.log');
    lines.write('first\n');
    assert.equal(read(), 'first\n');
    lines.startBuffering();
    lines.write('second\n');
    clock.advance(FLUSH_DELAY_MS - 1);
    assert.equal(read(), 'first\n');
    clock.advance(1);
    assert.equal(read(), 'first\nsecond\n');
    lines.write(`${'x'.repeat(8200)}\n`);
    assert.equal(read().length, 'first\nsecond\n'.length + 8201);
  });
});
