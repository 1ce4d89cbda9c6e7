/** Changes of settings that operators share, such as those of a key: what somebody else has changed meanwhile is not replaced unseen. */

import { ApiError } from './api.ts';

export interface OtherChange {
  /** Name of the setting, as errors of the gateway have it. */
  path: string;
  /** Null if it was removed. */
  value: unknown;
}

interface SharedChange<Settings> {
  /** Settings as they are now. */
  read(): Promise<Settings>;
  /** Settings that both changed, to different values, since the form has shown them; they count as shown from now on. */
  changesOfOthers(now: Settings): OtherChange[];
  /** Refused with `changed_meanwhile` if the settings are not those that were read. */
  send(now: Settings): Promise<unknown>;
}

const CHANGED = 'changed_meanwhile';
/** Times that a change is tried while others change other settings. */
const MAX_TRIES = 3;

/** Throws `ApiError`, also once for what somebody else has set. */
export async function saveShared<Settings>(change: SharedChange<Settings>, tries = MAX_TRIES): Promise<void> {
  const now = await change.read();
  const others = change.changesOfOthers(now);
  if (others.length > 0) {
    throw new ApiError(
      `Somebody else has ${others.map(wordsOf).join(' and ')} meanwhile. Save again to replace that.`,
      {
        status: 409,
        code: CHANGED,
        ...(others[0] && { param: others[0].path }),
      },
    );
  }
  try {
    await change.send(now);
  } catch (error) {
    if (!(error instanceof ApiError && error.code === CHANGED) || tries === 1) throw error;
    await saveShared(change, tries - 1);
  }
}

function wordsOf({ path, value }: OtherChange): string {
  if (value === null) return `removed ${path}`;
  return `set ${path} to ${typeof value === 'string' ? value : JSON.stringify(value)}`;
}
