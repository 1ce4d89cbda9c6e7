/**
 * `node scripts/pages.mjs`: builds the pages of the dashboard from `ui` to `dist/ui`, compressed, unless those of this
 * source are there. `npm start` runs it beside the gateway.
 */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { installPackages, nodeProgram, root, run, say } from './install.mjs';

export const uiFolder = join(root, 'ui');
/** Digest of the source that the pages were built from. */
const STAMP = '.built-from';
/** What the pages use from outside of `ui`: modules of the gateway, pages of the documentation, the schema of the configuration. */
export const SHARED = [
  'src/webhooks/signature-check.ts',
  'src/webhooks/verification.ts',
  'docs/routing.md',
  'docs/fidelity.md',
  'config.schema.json',
];
const COMPRESSED = /\.(?:html|js|css|svg|txt)$/;
const LOW_PRIORITY = 10;
/** What the gateway shows instead of the pages: why they could not be built. */
const PROBLEM_FILE = join(root, 'dist', 'ui-problem.txt');
const MAX_PROBLEM_CHARACTERS = 2000;

/** Whether the pages of the present source are built. */
export function arePagesBuilt() {
  const stamp = join(root, 'dist', 'ui', STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === sourceDigest();
}

export async function buildPages() {
  if (arePagesBuilt()) return;
  await installPackages(uiFolder, 'production', 'what the dashboard is built with');
  const digest = sourceDigest();
  const fresh = join(root, 'dist', `.ui-${process.pid}`);
  try {
    mkdirSync(fresh, { recursive: true });
    await runVite(fresh);
    compress(fresh);
    writeFileSync(join(fresh, STAMP), digest);
    const place = join(root, 'dist', 'ui');
    rmSync(place, { recursive: true, force: true });
    renameSync(fresh, place);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

async function runVite(outDir) {
  let output = '';
  const vite = join(uiFolder, 'node_modules', 'vite', 'bin', 'vite.js');
  const code = await run(
    await nodeProgram(),
    [vite, 'build', '--outDir', outDir, '--emptyOutDir', '--logLevel', 'warn'],
    {
      cwd: uiFolder,
      stdio: ['ignore', 'pipe', 2],
      onOutput(text) {
        output += text;
      },
    },
  );
  if (code !== 0) throw new Error(`${output}vite build ended with exit code ${code}.`);
}

/** Each file that compresses well in two encodings, without the original. */
function compress(folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !COMPRESSED.test(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = readFileSync(path);
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }));
    rmSync(path);
  }
}

function sourceDigest() {
  const hash = createHash('sha256');
  const files = ['package-lock.json', 'vite.config.ts', '../scripts/licences.mjs', 'index.html', ...sourceFiles()];
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(join(uiFolder, file)));
  for (const file of SHARED) hash.update(`${file}\0`).update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

function sourceFiles() {
  const entries = readdirSync(join(uiFolder, 'src'), { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return paths.map((path) => path.slice(uiFolder.length + 1)).toSorted();
}

/** Anybody may open the page, so the text has no folders of the machine and no hosts. */
export function publicProblem(message) {
  return message
    .replaceAll(root, '')
    .replaceAll(/\b[a-z]+:\/\/[^\s/]+/gi, '…')
    .replaceAll(/(?<![\w.…])\/(?:[\w.@-]+\/)+/g, '…/')
    .slice(0, MAX_PROBLEM_CHARACTERS);
}

function writeProblem(message) {
  mkdirSync(dirname(PROBLEM_FILE), { recursive: true });
  writeFileSync(PROBLEM_FILE, publicProblem(message));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    setPriority(LOW_PRIORITY);
    rmSync(PROBLEM_FILE, { force: true });
    if (!arePagesBuilt()) {
      say('The dashboard is being built (once) ...');
      await buildPages();
      say('The dashboard is built: open /ui.');
    }
  } catch (error) {
    say(`The dashboard could not be built, and everything else works without it: ${error.message}`);
    writeProblem(error.message);
    process.exitCode = 1;
  }
}
