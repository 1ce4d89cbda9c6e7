/** What the video routes are made of. */

import type { Json } from '../core/json/json.ts';
import type { Key } from '../keys/store.ts';
import type { AddressPolicy } from '../net/address-policy.ts';
import type { VideoTask } from '../records/video-task.ts';
import type { ModelDirectory } from '../routing/model-directory.ts';
import type { OpenContent } from '../videos/mirror/content.ts';
import type { FileUrls } from '../videos/mirror/file-urls.ts';
import type { Videos } from '../videos/videos.ts';
import type { DeliveryView } from '../webhooks/delivery-log.ts';

export interface VideoOptions {
  videos: Videos;
  /** The task as its owner sees it. */
  encode(task: VideoTask): Json;
  models(): ModelDirectory;
  /** Where media that callers name may lie. */
  policy: AddressPolicy;
  /** The address as it is to be kept, once webhooks to it can be signed. Throws `invalid_callback_url` and `invalid_request`. */
  checkCallbackUrl(url: string, key: Key): Promise<string>;
  openContent: OpenContent;
  checkFileUrl: FileUrls['checkFileUrl'];
  deliveries: VideoDeliveries;
  /** Unix milliseconds. */
  now?(): number;
  /** Milliseconds that a look at a task waits for the store. */
  storeTimeoutMs?: number;
}

export interface VideoDeliveries {
  /** Empty where none is owed. */
  of(owner: string, taskId: string): Promise<DeliveryView[]>;
  /** Sends it once more. Throws `not_found` where there is none, and `delivery_in_flight`. */
  replay(owner: string, taskId: string): Promise<void>;
}
