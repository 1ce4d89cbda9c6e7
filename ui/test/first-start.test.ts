/**
 * The first `npm start` in a clone: it serves at once, and builds the pages of the dashboard beside the gateway, once. Where they
 * cannot be built, everything else works.
 */

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { eventually } from '../../test/gateway/video-client.ts';

const ROOT = join(import.meta.dirname, '../..');
const KEY = 'sk-test-gateway-key-0123456789';

let clone = '';
before(() => {
  clone = mkdtempSync(join(tmpdir(), 'polygate clone-'));
  // As in a working copy: with what is not committed yet.
  const names = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', 'src', 'ui', 'scripts', 'docs/*.md', '*.json'], { cwd: ROOT, encoding: 'utf8' });
  for (const name of names.split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(clone, name)), { recursive: true });
    copyFileSync(join(ROOT, name), join(clone, name));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
});
after(() => rmSync(clone, { recursive: true }));
