/** Configuration reload: watches the file and reports the new configuration or why it is invalid. */

import { type FSWatcher, readFileSync, readlinkSync, statSync, watch } from 'node:fs';
import { dirname, join, parse, resolve, sep } from 'node:path';
import { type Clock, systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { type ConfigSource, parseConfig } from './load.ts';
import { readConfigText } from './location.ts';
import type { Config } from './resolved.ts';
import { isEmptyDocument } from './source.ts';

/** Time without changes before the file is read: editors truncate a file first and write it then. */
const SETTLE_MS = 150;

export interface WatchOptions {
  source: ConfigSource;
  /** `text` is the content of the file. */
  onChange(config: Config, text: string): void;
  /** The new file is invalid; the old configuration stays in use. */
  onInvalid(error: Error): void;
  clock?: Pick<Clock, 'after'>;
}

export interface ConfigWatcher {
  /** Reads the file again even if it seems unchanged, once it is stable. */
  reload(): void;
  close(): void;
}

/** Watches the folder, because editors and mounted volumes replace the file, and those of all links that lead to it. */
export function watchConfig({ source, onChange, onInvalid, clock = systemClock }: WatchOptions): ConfigWatcher {
  const { file } = source;
  let lastSnapshot = snapshotOf(file);
  /** Text of the configuration in use. */
  let activeText = lastSnapshot?.text;
  let isForced = false;
  let cancelTimer: (() => void) | undefined;
  const watchers = new Map<string, FSWatcher>();
  /** Names of the file and of the links that lead to it: looked up once, since a log in the folder changes all the time. */
  let names: readonly string[] = [];

  /** Repeats until two consecutive snapshots are equal. */
  function waitUntilStable(before: Snapshot | undefined): void {
    cancelTimer?.();
    const onSettled = () => {
      followLinks();
      const now = snapshotOf(file);
      if (!isEqual(before, now)) waitUntilStable(now);
      else if (isForced || now?.text !== lastSnapshot?.text) apply(now);
    };
    cancelTimer = clock.after(SETTLE_MS, onSettled, { background: true });
  }

  function apply(snapshot: Snapshot | undefined): void {
    isForced = false;
    lastSnapshot = snapshot;
    try {
      const text = snapshot?.text ?? readConfigText(source);
      if (isEmptyDocument(text) && !isEmptyDocument(activeText ?? '')) throw emptyFileError(file);
      onChange(parseConfig(text, source), text);
      activeText = text;
    } catch (error) {
      onInvalid(error as Error);
    }
  }

  function watchFolder(folder: string): FSWatcher {
    const watcher = watch(folder, { persistent: false });
    watcher.on('change', (type, name) => {
      if (!isOfOtherFile(type, name)) waitUntilStable(snapshotOf(file));
    });
    return watcher.on('error', onInvalid);
  }

  /** Whether bytes of another file in the folder were written, such as those of a log; a rename may put the file in its place. */
  function isOfOtherFile(type: string, name: string | Buffer | null): boolean {
    return type === 'change' && typeof name === 'string' && !names.includes(name);
  }

  /** Watches the folders of the links that lead to the file now, and of the file. */
  function followLinks(): void {
    const places = file === undefined ? [] : placesOf(file);
    names = places.map(({ name }) => name);
    const folders = new Map(places.map(({ folder }) => [identityOf(folder), folder]));
    for (const [identity, old] of watchers) {
      if (folders.has(identity)) continue;
      old.close();
      watchers.delete(identity);
    }
    for (const [identity, folder] of folders) {
      if (identity === undefined || identity === ownFolder || watchers.has(identity)) continue;
      try {
        watchers.set(identity, watchFolder(folder));
      } catch {
        // It may not be listed; a reload on demand is left.
      }
    }
  }

  const watcher = file === undefined ? undefined : watchFolder(dirname(file));
  const ownFolder = file === undefined ? undefined : identityOf(dirname(file));
  followLinks();

  return {
    reload() {
      isForced = true;
      waitUntilStable(snapshotOf(file));
    },
    close() {
      cancelTimer?.();
      watcher?.close();
      for (const other of watchers.values()) other.close();
    },
  };
}

/** Most links that lead to a file, as the kernel follows them. */
const MAX_LINKS = 40;

interface Place {
  folder: string;
  name: string;
}

/** Places of all links on the way to a file, also of those in the names of folders, and of the file at its end. */
function placesOf(file: string): Place[] {
  const places: Place[] = [];
  const path = resolve(file);
  let folder = parse(path).root;
  const names = path.slice(folder.length).split(sep);
  for (let name = names.shift(); name !== undefined && places.length <= MAX_LINKS; name = names.shift()) {
    const next = join(folder, name);
    const target = linkTarget(next);
    if (target !== undefined || names.length === 0) places.push({ folder, name });
    if (target === undefined) folder = next;
    else {
      const { root } = parse(target);
      if (root !== '') folder = root;
      names.unshift(...target.slice(root.length).split(sep));
    }
  }
  return places;
}

/** Undefined for a path that is not a link. */
function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** Tells a folder from one that has replaced it. */
function identityOf(folder: string): string | undefined {
  try {
    const { dev, ino } = statSync(folder);
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}

function emptyFileError(file: string | undefined): GatewayError {
  return new GatewayError(
    'invalid_request',
    `${file} is empty, which is taken for a file that is being written; write {} to go back to the defaults`,
  );
}

interface Snapshot {
  text: string;
  modifiedAt: number;
}

/** Undefined if the file cannot be read. */
function snapshotOf(file: string | undefined): Snapshot | undefined {
  try {
    return file === undefined ? undefined : { text: readFileSync(file, 'utf8'), modifiedAt: statSync(file).mtimeMs };
  } catch {
    return undefined;
  }
}

function isEqual(one: Snapshot | undefined, other: Snapshot | undefined): boolean {
  return one?.text === other?.text && one?.modifiedAt === other?.modifiedAt;
}
