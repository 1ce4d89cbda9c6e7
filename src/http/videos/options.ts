/** Dependencies of the video routes. */

import type { Clock } from '../../core/clock.ts';
import type { Json } from '../../core/json/json.ts';
import type { Key } from '../../keys/store.ts';
import type { AddressPolicy } from '../../net/address-policy.ts';
import type { VideoTask } from '../../records/video-task.ts';
import type { ModelDirectory } from '../../routing/model-directory.ts';
import type { OpenContent } from '../../videos/mirror/content.ts';
import type { FileUrls } from '../../videos/mirror/file-urls.ts';
import type { MirroredPictures } from '../../videos/mirror/pictures.ts';
import type { Videos } from '../../videos/videos.ts';
import type { DeliveryView } from '../../webhooks/delivery-log.ts';

export interface VideoOptions {
  videos: Videos;
  /** The task object of the public API. */
  encode(task: VideoTask): Json;
  models(): ModelDirectory;
  /** Address policy for media URLs. */
  policy: AddressPolicy;
  /** Returns the normalized URL and ensures that its webhooks can be signed. Throws `invalid_callback_url` and `invalid_request`. */
  checkCallbackUrl(url: string, key: Key): Promise<string>;
  openContent: OpenContent;
  checkFileUrl: FileUrls['checkFileUrl'];
  checkPictureUrl: FileUrls['checkPictureUrl'];
  findPicture: MirroredPictures['findPicture'];
  deliveries: VideoDeliveries;
  clock?: Clock;
}

export interface VideoDeliveries {
  /** Empty if the task has no webhook. */
  of(owner: string, taskId: string): Promise<DeliveryView[]>;
  /** Sends the webhook once more. Throws `not_found` and `delivery_in_flight`. */
  replay(owner: string, taskId: string): Promise<void>;
}
