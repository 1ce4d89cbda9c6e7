/** Cancelling by DELETE where the same verb erases a task that is over, together with its video. */

import type { CancelResult, PollResult, VideoAnswer, VideoCall } from '../../core/video.ts';
import { cancelResult } from './answer.ts';

interface DeleteCancellation {
  /** Where the state is asked for, and how it is read. */
  statePath: string;
  read(answer: VideoAnswer): PollResult;
  /** What is deleted. */
  path: string;
  headers?: Record<string, string>;
  /** The states in which deleting means cancelling. */
  cancellableStates: readonly PollResult['type'][];
}

/** Asks for the state first, and deletes only what is not over. */
export function cancelByDelete(deletion: DeleteCancellation): VideoCall<CancelResult> {
  return {
    method: 'GET',
    path: deletion.statePath,
    headers: deletion.headers,
    read: (answer) => {
      const { type } = deletion.read(answer);
      if (type === 'unreadable' || type === 'unknown') return { type: 'unreadable' };
      if (!deletion.cancellableStates.includes(type)) return { type: 'too-late' };
      const { path, headers } = deletion;
      return { type: 'follow', call: { method: 'DELETE', path, headers, read: cancelResult } };
    },
  };
}
