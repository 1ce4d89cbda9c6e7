/** Partial file: received bytes, their hash, and a checkpoint to resume after a disconnect or a crash. */

import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../security/file-modes.ts';
import { HEAD_BYTES } from './media-type.ts';

/** Version of the downloaded resource, for `If-Range`. */
export interface ResourceVersion {
  /** Strong ETag or `Last-Modified`. Without it the download cannot be resumed. */
  validator?: string;
  /** Size of the complete file in bytes, if known. */
  total?: number;
}

export interface FinishedFile {
  /** Hex. */
  sha256: string;
  bytes: number;
}

export interface PartialFile {
  readonly path: string;
  readonly bytes: number;
  readonly version: ResourceVersion;
  /** The first bytes of the file, as far as received. */
  readonly head: Buffer;
  /** Discards the received bytes and starts again with another version. */
  restart(version: ResourceVersion): Promise<void>;
  append(chunk: Buffer): Promise<void>;
  /** Syncs the complete file to disk and closes it. */
  finish(): Promise<FinishedFile>;
  /** Closes the file; deletes it if it cannot be resumed. No effect after `finish`. */
  close(): Promise<void>;
  discard(): Promise<void>;
}

/** Checkpoint of a partial file: the number of bytes that are synced to disk. */
interface Checkpoint extends ResourceVersion {
  bytes: number;
}

const CHECKPOINT_INTERVAL_BYTES = 8 * 1024 * 1024;
const READ_BUFFER_BYTES = 1024 * 1024;

/** Resumes the file at the path or creates it, with its folder. */
export async function openPartialFile(path: string): Promise<PartialFile> {
  await mkdir(dirname(path), { recursive: true, mode: PRIVATE_FOLDER });
  const checkpointPath = `${path}.json`;
  let checkpoint = await readCheckpoint(checkpointPath);
  const file = await openOrCreate(path);
  let isClosed = false;
  let { bytes, hash, head } = await readExisting(file, checkpoint);

  async function save(next: Checkpoint): Promise<void> {
    await file.datasync();
    await replaceFileAtomically(checkpointPath, JSON.stringify(next));
    checkpoint = next;
  }

  async function truncate(): Promise<void> {
    await file.truncate(0);
    bytes = 0;
    hash = createHash('sha256');
    head = Buffer.alloc(0);
  }

  async function release(): Promise<void> {
    if (isClosed) return;
    isClosed = true;
    await file.close();
  }

  async function discard(): Promise<void> {
    await release();
    await removePartialFile(path);
  }

  return {
    path,
    get bytes() {
      return bytes;
    },
    get version() {
      return checkpoint;
    },
    get head() {
      return head;
    },
    async restart(version) {
      await truncate();
      await save({ ...version, bytes: 0 });
    },
    async append(chunk) {
      await writeAll(file, chunk, bytes);
      if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES - head.length)]);
      hash.update(chunk);
      bytes += chunk.length;
      if (bytes - checkpoint.bytes >= CHECKPOINT_INTERVAL_BYTES) await save({ ...checkpoint, bytes });
    },
    async finish() {
      await save({ ...checkpoint, total: bytes, bytes });
      await release();
      return { sha256: hash.digest('hex'), bytes };
    },
    async close() {
      if (isClosed) return;
      if (checkpoint.validator === undefined) return await discard();
      await save({ ...checkpoint, bytes }).finally(release);
    },
    discard,
  };
}

/** Deletes a partial download and its checkpoint, if they exist. */
export async function removePartialFile(path: string): Promise<void> {
  await rm(`${path}.json`, { force: true });
  await rm(path, { force: true });
}

async function openOrCreate(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r+');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
    return await open(path, 'wx+', PRIVATE_FILE);
  }
}

/** Reads the checkpoint; the file starts from zero if it is corrupt or missing. */
async function readCheckpoint(path: string): Promise<Checkpoint> {
  try {
    const saved: unknown = JSON.parse(await readFile(path, 'utf8'));
    return isCheckpoint(saved) ? saved : { bytes: 0 };
  } catch {
    return { bytes: 0 };
  }
}

function isCheckpoint(value: unknown): value is Checkpoint {
  return typeof value === 'object' && value !== null && 'bytes' in value && Number.isSafeInteger(value.bytes);
}

/** Bytes after the checkpoint may be lost after a power failure, so they are downloaded again. */
async function readExisting(file: FileHandle, checkpoint: Checkpoint) {
  const hash: Hash = createHash('sha256');
  const { size } = await file.stat();
  const bytes = size < checkpoint.bytes ? 0 : checkpoint.bytes;
  await file.truncate(bytes);
  const buffer = Buffer.alloc(Math.min(READ_BUFFER_BYTES, bytes));
  for (let position = 0; position < bytes; ) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, bytes - position), position);
    hash.update(buffer.subarray(0, bytesRead));
    position += bytesRead;
  }
  const head = Buffer.alloc(Math.min(HEAD_BYTES, bytes));
  await file.read(head, 0, head.length, 0);
  return { bytes, hash, head };
}

async function writeAll(file: FileHandle, chunk: Buffer, position: number): Promise<void> {
  for (let done = 0; done < chunk.length; ) {
    done += (await file.write(chunk, done, chunk.length - done, position + done)).bytesWritten;
  }
}

/** Writes a new file and renames it, so that a crash leaves either the old or the new content. */
async function replaceFileAtomically(path: string, text: string): Promise<void> {
  const fresh = `${path}.new`;
  const file = await open(fresh, 'w', PRIVATE_FILE);
  try {
    await file.writeFile(text);
    await file.datasync();
  } finally {
    await file.close();
  }
  await rename(fresh, path);
}
