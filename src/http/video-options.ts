/** What the video routes are made of. */

import type { Json } from '../core/json.ts';
import type { VideoTask } from '../core/video-task.ts';
import type { Models } from '../inference/models.ts';
import type { OpenContent } from '../videos/mirror/content.ts';
import type { FileUrls } from '../videos/mirror/file-urls.ts';
import type { RequestChecks } from '../videos/request.ts';
import type { Videos } from '../videos/videos.ts';

export interface VideoOptions {
  videos: Videos;
  /** The task as its owner sees it. */
  encode(task: VideoTask): Json;
  models(): Models;
  checks: RequestChecks;
  openContent: OpenContent;
  checkFileUrl: FileUrls['checkFileUrl'];
  deliveries: VideoDeliveries;
  /** Unix milliseconds. */
  now?(): number;
  /** Milliseconds that a look at a task waits for the store. */
  patience?: number;
}

/** What became of the webhook of a task. Both throw `not_found` where none is owed. */
export interface VideoDeliveries {
  of(owner: string, taskId: string): Promise<Json>;
  /** Sends it once more. */
  replay(owner: string, taskId: string): Promise<Json>;
}
