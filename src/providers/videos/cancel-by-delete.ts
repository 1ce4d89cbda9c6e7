/** Cancellation by DELETE, for upstreams where DELETE also erases finished tasks with their videos. */

import type { CancelResult, PollResult, VideoCall, VideoResponse } from '../../core/video.ts';
import { cancelResult } from './response.ts';

interface DeleteCancellation {
  /** Path and reader of the status query. */
  statePath: string;
  read(response: VideoResponse): PollResult;
  /** Path of the DELETE. */
  path: string;
  headers?: Record<string, string>;
  /** States in which DELETE cancels the task. */
  cancellableStates: readonly PollResult['type'][];
}

/** Queries the state first, and deletes the task only in a cancellable state. */
export function cancelByDelete(deletion: DeleteCancellation): VideoCall<CancelResult> {
  return {
    method: 'GET',
    path: deletion.statePath,
    headers: deletion.headers,
    read: (response) => {
      const { type } = deletion.read(response);
      if (type === 'unreadable' || type === 'unknown') return { type: 'unreadable' };
      if (!deletion.cancellableStates.includes(type)) return { type: 'too-late' };
      const { path, headers } = deletion;
      return { type: 'follow', call: { method: 'DELETE', path, headers, read: cancelResult } };
    },
  };
}
