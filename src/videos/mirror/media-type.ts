/** Media type of a video: detected from its first bytes, not from the server's headers. */

/** Number of bytes needed for detection. */
export const HEAD_BYTES = 12;

const EBML = Buffer.from([0x1a, 0x45, 0xdf, 0xa3]);

/** Media type of an MP4, QuickTime, WebM or Matroska file; otherwise undefined. */
export function mediaTypeOf(head: Buffer): string | undefined {
  if (head.subarray(0, 4).equals(EBML)) return 'video/webm';
  if (head.toString('latin1', 4, 8) !== 'ftyp') return undefined;
  return head.toString('latin1', 8, 12) === 'qt  ' ? 'video/quicktime' : 'video/mp4';
}

/** File extension for a media type. */
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
