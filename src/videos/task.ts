/** The task as the rest of the gateway sees it. */

export {
  type AttemptState,
  isTerminal,
  type LedgerEntry,
  type MirroredFile,
  type TaskAsset,
  type TaskMemory,
  type TerminalStatus,
  type VideoAttempt,
  type VideoDetails,
  type VideoPhase,
  type VideoStatus,
  type VideoTask,
} from '../records/video-task.ts';
