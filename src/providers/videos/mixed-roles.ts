/** Check for providers that do not accept frames and references in one request. */

import { GatewayError } from '../../core/errors.ts';
import type { VideoRequest } from '../../core/video.ts';

/** Throws `invalid_request` for a request with both. */
export function refuseMixedRoles({ frames, references }: VideoRequest): void {
  if (frames.length === 0 || references.length === 0) return;
  throw new GatewayError('invalid_request', 'input_references cannot be used together with frame_images.', {
    param: 'input_references',
  });
}
