/** Notices a changed configuration file and hands on the new configuration, or says why the old one stays. */

import { readFileSync, statSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import { GatewayError } from '../core/errors.ts';
import { type ConfigSource, parseConfig, textOf } from './load.ts';
import type { Config } from './resolved.ts';
import { holdsNothing } from './source.ts';

/** Milliseconds for which the file must stay as it is before it is read: editors and tools truncate it, then write. */
const SETTLE_MS = 150;

export interface WatchOptions {
  source: ConfigSource;
  onChange(config: Config): void;
  /** The new file cannot be used; nothing changed. */
  onInvalid(error: Error): void;
}

export interface ConfigWatcher {
  /** Reads again whether or not the file seems changed, as soon as nobody writes to it. */
  reload(): void;
  close(): void;
}

/** The folder is watched rather than the file, which editors and mounted volumes replace. */
export function watchConfig({ source, onChange, onInvalid }: WatchOptions): ConfigWatcher {
  const { file } = source;
  let seen = snapshotOf(file);
  /** Of the configuration in use. */
  let used = seen?.text;
  let isForced = false;
  let settling: NodeJS.Timeout | undefined;

  /** Calls itself until two snapshots are equal. */
  function settle(before: Snapshot | undefined): void {
    clearTimeout(settling);
    settling = setTimeout(() => {
      const now = snapshotOf(file);
      if (!isSame(before, now)) settle(now);
      else if (isForced || now?.text !== seen?.text) take(now);
    }, SETTLE_MS).unref();
  }

  function take(snapshot: Snapshot | undefined): void {
    isForced = false;
    seen = snapshot;
    try {
      const text = snapshot?.text ?? textOf(source);
      if (holdsNothing(text) && !holdsNothing(used ?? '')) throw emptied(file);
      onChange(parseConfig(text, source));
      used = text;
    } catch (error) {
      onInvalid(error as Error);
    }
  }

  const watcher = file === undefined ? undefined : watch(dirname(file), { persistent: false });
  watcher?.on('change', () => settle(snapshotOf(file)));
  watcher?.on('error', onInvalid);

  return {
    reload() {
      isForced = true;
      settle(snapshotOf(file));
    },
    close() {
      clearTimeout(settling);
      watcher?.close();
    },
  };
}

function emptied(file: string | undefined): GatewayError {
  return new GatewayError(
    'invalid_request',
    `${file} is empty, which is taken for a file that is being written; write {} to go back to the defaults`,
  );
}

interface Snapshot {
  text: string;
  modifiedAt: number;
}

/** Undefined where the file cannot be read. */
function snapshotOf(file: string | undefined): Snapshot | undefined {
  try {
    return file === undefined ? undefined : { text: readFileSync(file, 'utf8'), modifiedAt: statSync(file).mtimeMs };
  } catch {
    return undefined;
  }
}

function isSame(one: Snapshot | undefined, other: Snapshot | undefined): boolean {
  return one?.text === other?.text && one?.modifiedAt === other?.modifiedAt;
}
