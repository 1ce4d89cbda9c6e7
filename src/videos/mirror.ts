/** Mirror interface: copies of finished videos, as used by the task machine. */

import type { MirroredFile } from '../records/video-task.ts';

/**
 * Source of a finished video. A `path` is below the provider's base URL, and its headers contain the credential: they are
 * sent to the provider's own origin only, redirects included.
 */
export type AssetSource = { mime?: string } & (
  | { type: 'url'; url: string }
  | { type: 'path'; url: string; headers: Record<string, string> }
  /** Base64, or the bytes. */
  | { type: 'data'; data: string | Buffer }
);

export interface Mirror {
  /**
   * Copies one video of a task; resumes after a crash. Undefined if it cannot be mirrored: too large, not a video, disk
   * full. Rejects if a later try may succeed, with `upstreamStatus` if the upstream refused: after 403, 404 and 410 the
   * next try uses a new URL.
   */
  save(
    task: { id: string; owner: string },
    index: number,
    source: AssetSource,
    signal: AbortSignal,
  ): Promise<MirroredFile | undefined>;
  /** Whether a copy is there. */
  has(kept: MirroredFile): Promise<boolean>;
  /** Deletes all copies of a task. Idempotent. */
  erase(task: { id: string; owner: string }, kept: readonly MirroredFile[]): Promise<void>;
}
