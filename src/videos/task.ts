/** The task as the rest of the gateway sees it. */

export {
  type AttemptState,
  isTerminal,
  type Kept,
  type LedgerEntry,
  type TaskAsset,
  type TaskMemory,
  type TerminalStatus,
  type VideoAttempt,
  type VideoDetails,
  type VideoPhase,
  type VideoStatus,
  type VideoTask,
} from '../core/video-task.ts';
