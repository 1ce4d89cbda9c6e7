/** Budgets of the pages' files, compressed with gzip. */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { say } from './install.mjs';

const KB = 1000;
const BUDGETS_KB = { firstScripts: 165, styles: 15, fonts: 55, page: 40, playground: 60, scripts: 420, package: 1200 };

/** Sizes by the name of their budget, in kB, each with what is allowed. */
export function measureSizes(folder) {
  const assets = join(folder, 'assets');
  const names = readdirSync(assets);
  const sizeOf = (name) => statSync(join(assets, name)).size / KB;
  const sum = (list) => list.reduce((total, name) => total + sizeOf(name), 0);
  const scripts = names.filter((name) => name.endsWith('.js.gz'));
  const index = gunzipSync(readFileSync(join(folder, 'index.html.gz'))).toString();
  const first = scripts.filter((name) => index.includes(name.replace('.gz', '')));
  const pages = scripts.filter((name) => !first.includes(name));
  if (!pages.some(isPlayground)) throw new Error('There is no script of the playground: it has a budget of its own.');
  const sizes = {
    firstScripts: sum(first),
    styles: sum(names.filter((name) => name.endsWith('.css.gz'))),
    fonts: sum(names.filter((name) => name.endsWith('.woff2'))),
    page: Math.max(...pages.filter((name) => !isPlayground(name)).map(sizeOf)),
    playground: Math.max(...pages.filter(isPlayground).map(sizeOf)),
    scripts: sum(scripts),
    package: total(folder) / KB,
  };
  return Object.entries(sizes).map(([name, value]) => ({ name, value, most: BUDGETS_KB[name] }));
}

/** Throws naming each budget that is exceeded. */
export function checkSizes(folder) {
  const sizes = measureSizes(folder);
  for (const { name, value, most } of sizes) say(`${name} ${value.toFixed(1)} kB (at most ${most})`);
  const excess = sizes.filter(({ value, most }) => value > most).map(({ name }) => name);
  if (excess.length > 0) throw new Error(`The pages are too large: ${excess.join(', ')}.`);
}

const isPlayground = (name) => basename(name).startsWith('playground');

function total(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
