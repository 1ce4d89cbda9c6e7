/** Licences of libraries that are in a bundle: their texts, and which licences there may be. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Licences under which a library may be part of the package. */
const ALLOWED = ['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'OFL-1.1'];
const LICENCE_FILE = /^(licen[cs]e|notice|copying)/i;
const README_FILE = /^readme/i;
/** The last section of a readme, where a package has no file with its licence. */
const README_SECTION = /^#+ *licen[cs]e\b.*\n([\s\S]*)/im;
/** Such a section counts if it has the text of a licence, not only its name. */
const GRANT = /permission is hereby granted|permission to use|redistribution and use/i;
/** For a package whose only word about its licence is "MIT". */
const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use,
copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom
the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;
const PACKAGE_FOLDER = /^.*node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+/;

/**
 * Name, licence and texts of each package that has one of these files; packages of one text share it. Throws if one has no text,
 * or a licence that is not allowed.
 */
export function licencesOf(files) {
  const folders = new Set(files.flatMap((path) => PACKAGE_FOLDER.exec(path) ?? []));
  const byText = Map.groupBy([...folders].sort().map(licenceOf), ({ text }) => text);
  const sections = [...byText].map(([text, packages]) =>
    [...packages.map(({ name }) => name).sort(), '', text, '', '-'.repeat(80), ''].join('\n'),
  );
  return sections.join('\n');
}

function licenceOf(folder) {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  if (!ALLOWED.includes(license))
    throw new Error(`${name} ${version} has the licence ${license}; allowed are ${ALLOWED.join(', ')}.`);
  const texts = licenceTexts(folder);
  if (texts.length === 0 && license === 'MIT')
    texts.push(`Copyright (c) ${author?.name ?? author ?? `the authors of ${name}`}`, '', MIT);
  if (texts.length === 0) throw new Error(`${name} ${version} has no text of its licence (${license}).`);
  return { name: `${name} ${version} (${license})`, text: texts.join('\n') };
}

function licenceTexts(folder) {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);
  const textOf = (name) => readFileSync(join(folder, name), 'utf8').trim();
  const texts = names.filter((name) => LICENCE_FILE.test(name)).map(textOf);
  if (texts.length > 0) return texts;
  const sections = names.filter((name) => README_FILE.test(name)).map((name) => README_SECTION.exec(textOf(name))?.[1]);
  return sections.filter((section) => GRANT.test(section ?? '')).map((section) => section.trim());
}
