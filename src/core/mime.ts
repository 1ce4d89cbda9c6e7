/** MIME types: detection by content and by file name. */

import { MAX_ADDRESS_CHARACTERS } from './lengths.ts';

const EXTENSIONS: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  bmp: 'image/bmp',
  heic: 'image/heic',
  heif: 'image/heif',
  avif: 'image/avif',
  svg: 'image/svg+xml',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  htm: 'text/html',
  json: 'application/json',
  xml: 'text/xml',
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  ogg: 'audio/ogg',
  oga: 'audio/ogg',
  opus: 'audio/ogg',
  flac: 'audio/flac',
  aac: 'audio/aac',
  aif: 'audio/aiff',
  aiff: 'audio/aiff',
  m4a: 'audio/mp4',
  mp4: 'video/mp4',
  m4v: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  mpeg: 'video/mpeg',
  mpg: 'video/mpeg',
  avi: 'video/x-msvideo',
  wmv: 'video/x-ms-wmv',
  flv: 'video/x-flv',
  '3gp': 'video/3gpp',
};

/** Whether a document of the type is text, which every model reads. */
export function isTextType(mime: string): boolean {
  return mime.startsWith('text/') || mime === 'application/json';
}

/** The registered name of a type that clients often misspell. */
export function registeredType(mime: string | undefined): string | undefined {
  return mime === 'image/jpg' ? 'image/jpeg' : mime;
}

/** Bytes as Latin-1 text at an offset; those at `RIFF_FORM_OFFSET` count only in a RIFF file. */
const SIGNATURES: readonly { at: number; bytes: string; mime: string }[] = [
  { at: 0, bytes: '\x89PNG\r\n\x1a\n', mime: 'image/png' },
  { at: 0, bytes: '\xff\xd8\xff', mime: 'image/jpeg' },
  { at: 0, bytes: 'GIF87a', mime: 'image/gif' },
  { at: 0, bytes: 'GIF89a', mime: 'image/gif' },
  { at: 8, bytes: 'WEBP', mime: 'image/webp' },
  { at: 8, bytes: 'WAVE', mime: 'audio/wav' },
  { at: 8, bytes: 'AVI ', mime: 'video/x-msvideo' },
  { at: 0, bytes: '%PDF-', mime: 'application/pdf' },
  { at: 0, bytes: 'ID3', mime: 'audio/mpeg' },
  { at: 0, bytes: 'OggS', mime: 'audio/ogg' },
  { at: 0, bytes: 'fLaC', mime: 'audio/flac' },
];

const RIFF_FORM_OFFSET = 8;

/** Brands of the ISO base media format that are not `video/mp4`. */
const FTYP_BRANDS: Record<string, string> = {
  heic: 'image/heic',
  heix: 'image/heic',
  mif1: 'image/heif',
  msf1: 'image/heif',
  avif: 'image/avif',
  avis: 'image/avif',
  'M4A ': 'audio/mp4',
  'M4B ': 'audio/mp4',
  'qt  ': 'video/quicktime',
};

/** Number of bytes that `sniffMime` needs. */
const SNIFF_BYTES = 64;

/** The type detected from the first bytes of a file, or undefined. */
export function sniffMime(bytes: Buffer): string | undefined {
  const head = bytes.toString('latin1', 0, SNIFF_BYTES);
  for (const { at, bytes: signature, mime } of SIGNATURES) {
    if (head.startsWith(signature, at) && (at !== RIFF_FORM_OFFSET || head.startsWith('RIFF'))) return mime;
  }
  if (head.startsWith('ftyp', 4)) return FTYP_BRANDS[head.slice(8, 12)] ?? 'video/mp4';
  if (head.startsWith('\x1aE\xdf\xa3')) return head.includes('webm') ? 'video/webm' : 'video/x-matroska';
  if (isBitmap(bytes)) return 'image/bmp';
  return sniffMpegAudio(bytes);
}

/** The type of base64 text. */
export function sniffBase64(data: string): string | undefined {
  return sniffMime(Buffer.from(data.slice(0, Math.ceil(SNIFF_BYTES / 3) * 4), 'base64'));
}

/** The type by the extension of a URL path or file name, or undefined. */
export function mimeOfName(name: string): string | undefined {
  if (name.length > MAX_ADDRESS_CHARACTERS) return undefined;
  const path = name.replace(/[?#].*$/s, '').replace(/^[a-z0-9+.-]+:\/\/[^/]*/i, '');
  const extension = /\.([a-z0-9]{1,5})$/i.exec(path)?.[1];
  return extension === undefined ? undefined : EXTENSIONS[extension.toLowerCase()];
}

/** BMP header: `BM` alone is ambiguous, so the reserved bytes must be zero and the header size known. */
function isBitmap(bytes: Buffer): boolean {
  if (bytes.length < 18 || bytes.toString('latin1', 0, 2) !== 'BM' || bytes.readUInt32LE(6) !== 0) return false;
  return [12, 40, 52, 56, 64, 108, 124].includes(bytes.readUInt32LE(14));
}

/** A frame header of MPEG audio: layer bits 1 are MP3, 0 AAC in ADTS; others may be a byte order mark. */
function sniffMpegAudio(bytes: Buffer): string | undefined {
  const [first = 0, second = 0, third = 0xff] = bytes;
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
  const version = (second >> 3) & 3;
  const layer = (second >> 1) & 3;
  if (layer === 0) return (second & 0xf0) === 0xf0 ? 'audio/aac' : undefined;
  const hasBitrate = third >> 4 !== 15;
  return layer === 1 && version !== 1 && hasBitrate ? 'audio/mpeg' : undefined;
}
