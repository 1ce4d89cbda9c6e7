/** Bundle of the program: few files instead of one for each module, so that a start opens and compiles little. */

import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { licencesOf } from './licences.mjs';

/** Modules that are started or imported by their path: the program, its threads, and the export of the package. */
const ENTRIES = ['main', 'store/operations/index', 'store/sqlite/thread', 'webhooks/thread', 'webhooks/verify'];
/** Files and folders of the source that the program reads while it runs. */
const DATA = ['catalog/models.json', 'catalog/rules.json', 'catalog/videos', 'store/migrations'];
/** Oldest Node that runs the code. */
const TARGET = 'node24.15';
/** Stands for the path from a file of the bundle to `dist` until that file is written. */
const DIST_PLACEHOLDER = '__POLYGATE_DIST__';
/** Module of the package `@polygate/webhooks`, and the oldest Node that receivers may run on. */
const RECEIVER = 'webhooks/verify';
const RECEIVER_TARGET = 'node18';
/** CommonJS libraries call `require` for modules of Node. */
const REQUIRE = `import { createRequire as __createRequire } from 'node:module';
const require = __createRequire(import.meta.url);`;

/** Writes the program and its data files to `dist`; returns the number of files of code. */
export async function writeBundle({ source, dist }) {
  const { files, licences } = await bundle({ source, dist });
  for (const { path, contents } of files) write(path, contents);
  write(join(dist, 'LICENSES.txt'), licences);
  for (const file of DATA) cpSync(join(source, file), join(dist, file), { recursive: true, filter: isRead });
  shortenJson(join(dist, 'catalog'));
  return files.length;
}

/** Documents beside the data are for developers. */
function isRead(path) {
  return !path.endsWith('.md');
}

/** Writes the files without spaces: the installed package has a bound. */
function shortenJson(folder) {
  for (const name of readdirSync(folder, { recursive: true })) {
    const path = join(folder, name);
    if (name.endsWith('.json')) writeFileSync(path, JSON.stringify(JSON.parse(readFileSync(path, 'utf8'))));
  }
}

function write(path, contents) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, contents);
}

/** Returns the files of the bundle, and the licences of the libraries in it. */
export async function bundle({ source, dist }) {
  const { build } = await import('esbuild');
  const folder = join(source, '..');
  const { outputFiles, metafile } = await build({
    entryPoints: ENTRIES.map((entry) => ({ in: join(source, `${entry}.ts`), out: entry })),
    outdir: dist,
    // The alias is resolved from here.
    absWorkingDir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: TARGET,
    legalComments: 'none',
    // Not the names, which errors show.
    minifyWhitespace: true,
    minifySyntax: true,
    chunkNames: 'chunks/[name]-[hash]',
    banner: { js: REQUIRE },
    plugins: [originalUrls(source)],
    // An optional native part of pg that is not installed.
    external: ['pg-native'],
    // Its CommonJS form loads its parts by a name that cannot be followed.
    alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  return {
    files: outputFiles.map(({ path, text }) => ({ path, contents: placed(text, relative(join(path, '..'), dist)) })),
    licences: licencesOf(Object.keys(metafile.inputs).map((path) => join(folder, path))),
    metafile,
  };
}

/** The receiver's module alone, as a module of either kind. */
export async function bundleReceiver({ source, dist }) {
  const { build } = await import('esbuild');
  const formats = [
    { format: 'esm', outExtension: { '.js': '.js' } },
    { format: 'cjs', outExtension: { '.js': '.cjs' } },
  ];
  for (const format of formats) {
    await build({
      ...format,
      entryPoints: [join(source, `${RECEIVER}.ts`)],
      outdir: dist,
      bundle: true,
      platform: 'node',
      target: RECEIVER_TARGET,
      logLevel: 'warning',
    });
  }
}

function placed(text, toDist) {
  return text.replaceAll(DIST_PLACEHOLDER, toDist === '' ? '.' : toDist.split(sep).join('/'));
}

/** `import.meta.url` of a module as if it were a file of its own in `dist`: data files and threads are found from it. */
function originalUrls(source) {
  return {
    name: 'original-urls',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const module = relative(source, path);
        if (module.startsWith('..')) return undefined;
        const text = readFileSync(path, 'utf8');
        if (!text.includes('import.meta.')) return undefined;
        const url = `${DIST_PLACEHOLDER}/${module.split(sep).join('/').replace(/\.ts$/, '.js')}`;
        const contents = text.replaceAll('import.meta.url', `new URL('${url}', import.meta.url).href`);
        return { contents, loader: 'ts' };
      });
    },
  };
}
