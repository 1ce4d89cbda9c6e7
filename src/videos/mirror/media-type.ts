/** Media type of a video or picture: detected from its first bytes, not from the server's headers. */

/** Number of bytes needed for detection. */
export const HEAD_BYTES = 12;

const EBML = Buffer.from([0x1a, 0x45, 0xdf, 0xa3]);

/** Media type of an MP4, QuickTime, WebM or Matroska file; otherwise undefined. */
export function mediaTypeOf(head: Buffer): string | undefined {
  if (head.subarray(0, 4).equals(EBML)) return 'video/webm';
  if (head.toString('latin1', 4, 8) !== 'ftyp') return undefined;
  return head.toString('latin1', 8, 12) === 'qt  ' ? 'video/quicktime' : 'video/mp4';
}

export type PictureType = 'png' | 'jpg' | 'gif' | 'webp';

/** Number of bytes needed to detect a picture. */
export const PICTURE_HEAD_BYTES = 12;

const PICTURE_MIMES: Readonly<Record<PictureType, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
};

/** File extension of a PNG, JPEG, GIF or WebP picture; otherwise undefined. */
export function pictureTypeOf(head: Buffer): PictureType | undefined {
  const text = head.toString('latin1', 0, PICTURE_HEAD_BYTES);
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'png';
  if (text.startsWith('\xff\xd8\xff')) return 'jpg';
  if (/^GIF8[79]a/.test(text)) return 'gif';
  return text.startsWith('RIFF') && text.endsWith('WEBP') ? 'webp' : undefined;
}

/** Media type for the file extension of a picture. */
export function pictureMimeOf(type: string): string {
  return PICTURE_MIMES[type as PictureType] ?? 'application/octet-stream';
}

/** File extension for a media type. */
export function extensionOf(mime: string): string {
  switch (mime) {
    case 'video/webm':
      return 'webm';
    case 'image/png':
      return 'png';
    case 'image/jpeg':
      return 'jpg';
    case 'image/gif':
      return 'gif';
    case 'image/webp':
      return 'webp';
    case 'video/quicktime':
      return 'mov';
    default:
      return 'mp4';
  }
}
