/** Permanent mirroring error: the video cannot be mirrored by any later try. The reason is logged for the operator. */

export class NotMirrorable extends Error {
  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.name = 'NotMirrorable';
  }
}
