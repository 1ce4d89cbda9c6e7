/** The program as the npm package has it: bundled, into a temporary folder, once for each checkout. */

import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { temporaryFolder } from '../host/children.ts';

const programs = new Map<string, Promise<string>>();

/** Path of the bundled program of the checkout at `root`. */
export function bundledProgram(root: string): Promise<string> {
  const program = programs.get(root) ?? bundle(root);
  programs.set(root, program);
  return program;
}

async function bundle(root: string): Promise<string> {
  const folder = temporaryFolder();
  const { writeBundle } = await import(pathToFileURL(join(root, 'scripts/bundle.mjs')).href);
  await writeBundle({ source: join(root, 'src'), dist: join(folder, 'dist') });
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
  return join(folder, 'dist/main.js');
}
