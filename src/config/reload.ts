/** Configuration reload: watches the file and reports the new configuration or why it is invalid. */

import { type FSWatcher, readFileSync, realpathSync, statSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
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

/** Watches the folder, because editors and mounted volumes replace the file, and that of the file to which a link leads. */
export function watchConfig({ source, onChange, onInvalid, clock = systemClock }: WatchOptions): ConfigWatcher {
  const { file } = source;
  let lastSnapshot = snapshotOf(file);
  /** Text of the configuration in use. */
  let activeText = lastSnapshot?.text;
  let isForced = false;
  let cancelTimer: (() => void) | undefined;
  let target: { folder: string; watcher: FSWatcher } | undefined;
  /** Names of the file, and of the file that a link leads to: looked up once, since a log in the folder changes all the time. */
  let names: readonly (string | undefined)[] = [];

  /** Repeats until two consecutive snapshots are equal. */
  function waitUntilStable(before: Snapshot | undefined): void {
    cancelTimer?.();
    const onSettled = () => {
      followLink();
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

  /** Watches the folder of the file that the link leads to now, where it is another one. */
  function followLink(): void {
    names = file === undefined ? [] : [basename(file), targetName(file)];
    const folder = targetFolder(file);
    if (folder === target?.folder) return;
    target?.watcher.close();
    target = undefined;
    try {
      if (folder !== undefined) target = { folder, watcher: watchFolder(folder) };
    } catch {
      // It may not be listed; a reload on demand is left.
    }
  }

  const watcher = file === undefined ? undefined : watchFolder(dirname(file));
  followLink();

  return {
    reload() {
      isForced = true;
      waitUntilStable(snapshotOf(file));
    },
    close() {
      cancelTimer?.();
      watcher?.close();
      target?.watcher.close();
    },
  };
}

/** Name of the file that a link leads to. */
function targetName(file: string): string | undefined {
  try {
    return basename(realpathSync.native(file));
  } catch {
    return undefined;
  }
}

/** Folder of the file to which a link leads, if it is another one. */
function targetFolder(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    const folder = dirname(realpathSync.native(file));
    return folder === realpathSync.native(dirname(file)) ? undefined : folder;
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
