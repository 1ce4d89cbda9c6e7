/** What keeps copies of finished videos, as the task machine sees it. */

import type { MirroredFile } from './task.ts';

export type { MirroredFile } from './task.ts';

/**
 * Where a finished video is to be had. A `path` is below a provider's base URL, and its headers hold our credential: they
 * go to the provider's own origin and nowhere else, redirects included.
 */
export type AssetSource = { mime?: string } & (
  | { type: 'url'; url: string }
  | { type: 'path'; url: string; headers: Record<string, string> }
  /** Base64. */
  | { type: 'data'; data: string }
);

export interface Mirror {
  /**
   * Keeps one video of a task; called again after a crash it goes on. Undefined means that it will not be kept: too large,
   * not a video, no room. Rejects when a later try may succeed, with the `upstreamStatus` where an upstream refused: after
   * 403, 404 and 410 the next try comes with a fresh address.
   */
  save(
    task: { id: string; owner: string },
    index: number,
    source: AssetSource,
    signal: AbortSignal,
  ): Promise<MirroredFile | undefined>;
  /** Erases all that is kept of a task; erasing nothing succeeds. */
  erase(task: { id: string; owner: string }, kept: readonly MirroredFile[]): Promise<void>;
}
