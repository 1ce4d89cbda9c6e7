/** Why a video is not kept, however often it is tried: for the operator's log. */

export class NotMirrorable extends Error {
  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.name = 'Unfit';
  }
}
