/** docs/sizing.md: Node's program in large pages, as the page says. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { program } from '../cli/program.ts';
import { codeIn } from './markdown.ts';

const MODE_FILE = '/sys/kernel/mm/transparent_hugepage/enabled';
const hasLargePages = existsSync(MODE_FILE) && /\[(madvise|always)\]/.test(readFileSync(MODE_FILE, 'utf8'));

test('a gateway whose program lies in large pages starts and answers', async (context) => {
  const [line = ''] = codeIn('docs/sizing.md', 'sh');
  const [, options = ''] = /^NODE_OPTIONS=(\S+) polygate$/m.exec(line) ?? [];
  assert.equal(options, '--use-largepages=silent');
  const gateway = program(context).start(['serve', '--port', '0'], { NODE_OPTIONS: options });
  const [, url = ''] = await gateway.shows(/listens on (\S+)/);
  assert.equal((await fetch(`${url}/readyz`)).status, 200);
  if (!hasLargePages || process.arch !== 'x64') return context.diagnostic('NOT LOOKED AT: pages of this system');
  const memory = readFileSync(`/proc/${gateway.pid}/smaps_rollup`, 'utf8');
  const [, kilobytes] = /^AnonHugePages:\s+(\d+) kB$/m.exec(memory) ?? [];
  assert.ok(Number(kilobytes) >= 2048, `${kilobytes} kB of large pages`);
});
