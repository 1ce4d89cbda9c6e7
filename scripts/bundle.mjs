/** Bundle of the program: few files instead of one for each module, so that a start opens and compiles little. */

import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** Modules that are started or imported by their path: the program, its threads, and the export of the package. */
const ENTRIES = ['main', 'store/operations/index', 'store/sqlite/thread', 'webhooks/thread', 'webhooks/verify'];
/** Oldest Node that runs the code. */
const TARGET = 'node24.15';
/** Stands for the path from a file of the bundle to `dist` until that file is written. */
const DIST_PLACEHOLDER = '__POLYGATE_DIST__';
const LICENCE_FILE = /^(licen[cs]e|notice|copying)/i;
/** CommonJS libraries call `require` for modules of Node. */
const REQUIRE = `import { createRequire as __createRequire } from 'node:module';
const require = __createRequire(import.meta.url);`;

/** Returns the files of the bundle, and the licences of the libraries in it. */
export async function bundle({ source, dist }) {
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    entryPoints: ENTRIES.map((entry) => ({ in: join(source, `${entry}.ts`), out: entry })),
    outdir: dist,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: TARGET,
    legalComments: 'none',
    charset: 'utf8',
    chunkNames: 'chunks/[name]-[hash]',
    banner: { js: REQUIRE },
    plugins: [originalUrls(source)],
    // An optional native part of pg that is not installed.
    external: ['pg-native'],
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  return {
    files: outputFiles.map(({ path, text }) => ({ path, contents: placed(text, relative(join(path, '..'), dist)) })),
    licences: licencesOf(Object.keys(metafile.inputs)),
    metafile,
  };
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

/** Licences and notices of the packages whose modules are in the bundle. */
function licencesOf(modules) {
  const folders = new Set(modules.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []));
  return [...folders].sort().map(licenceOf).join('\n');
}

function licenceOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const texts = readdirSync(folder)
    .filter((file) => LICENCE_FILE.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return [`${name} ${version} (${license})`, '', ...texts, '', '-'.repeat(80), ''].join('\n');
}
