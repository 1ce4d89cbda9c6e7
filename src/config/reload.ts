/** Notices a changed configuration file and hands on the new configuration, or says why the old one stays. */

import { readFileSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import { type ConfigSource, loadConfig } from './load.ts';
import type { Config } from './resolved.ts';

/** Milliseconds for an editor to finish writing. */
const SETTLE = 100;

export interface WatchOptions {
  source: ConfigSource;
  onChange(config: Config): void;
  /** The new file cannot be used; nothing changed. */
  onInvalid(error: Error): void;
}

export interface ConfigWatcher {
  /** Reads again whether or not the file seems changed. */
  reload(): void;
  close(): void;
}

/** The folder is watched rather than the file, which editors and mounted volumes replace. */
export function watchConfig({ source, onChange, onInvalid }: WatchOptions): ConfigWatcher {
  const { file } = source;
  let seen = textOf(file);
  let settling: NodeJS.Timeout | undefined;

  function reload(): void {
    seen = textOf(file);
    try {
      onChange(loadConfig(source));
    } catch (error) {
      onInvalid(error as Error);
    }
  }

  function reloadIfChanged(): void {
    if (textOf(file) !== seen) reload();
  }

  const watcher = file === undefined ? undefined : watch(dirname(file), { persistent: false });
  watcher?.on('change', () => {
    clearTimeout(settling);
    settling = setTimeout(reloadIfChanged, SETTLE).unref();
  });
  watcher?.on('error', onInvalid);

  return {
    reload,
    close() {
      clearTimeout(settling);
      watcher?.close();
    },
  };
}

function textOf(file: string | undefined): string | undefined {
  try {
    return file === undefined ? undefined : readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
