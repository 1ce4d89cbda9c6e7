/** Picture store: keeps pictures that the client's protocol cannot represent. */

export interface PictureToKeep {
  /** For the log. */
  requestId: string;
  /** Position among the pictures of the answer, from 0. */
  index: number;
  /** Base64. */
  data: string;
}

export interface PictureStore {
  /**
   * Keeps a picture in the background. Returns its signed URL, which is valid at once; undefined if the picture cannot be
   * kept: no mirror, too large, too many, not a picture.
   */
  keep(picture: PictureToKeep): string | undefined;
}
