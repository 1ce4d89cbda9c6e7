/** What kind of video a file is, told by its first bytes and never by what a server calls it. */

/** Bytes of a file that are enough to tell. */
export const HEAD_BYTES = 12;

const EBML = Buffer.from([0x1a, 0x45, 0xdf, 0xa3]);

/** The media type of an MP4, QuickTime, WebM or Matroska file; undefined for all else. */
export function mediaTypeOf(head: Buffer): string | undefined {
  if (head.subarray(0, 4).equals(EBML)) return 'video/webm';
  if (head.toString('latin1', 4, 8) !== 'ftyp') return undefined;
  return head.toString('latin1', 8, 12) === 'qt  ' ? 'video/quicktime' : 'video/mp4';
}

/** With which a file of the type is named. */
export function extensionOf(mime: string): string {
  switch (mime) {
    case 'video/webm':
      return 'webm';
    case 'video/quicktime':
      return 'mov';
    default:
      return 'mp4';
  }
}
