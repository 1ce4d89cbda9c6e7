/** One gateway a folder: a lock that the system takes back when its holder dies, however it dies. */

import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../../core/errors.ts';
import { connect } from './connection.ts';

const BUSY = 5;
const NOT_A_DATABASE = 26;

export interface Ownership {
  release(): void;
}

/** Throws `unavailable` when another gateway runs on the folder, or the folder cannot be written to. */
export function own(folder: string): Ownership {
  let lock: DatabaseSync | undefined;
  try {
    lock = connect(join(folder, 'lock.db'), { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    throw new GatewayError('unavailable', reason(folder, error as { errcode?: number; message: string }));
  }
  const held = lock;
  return { release: () => held.close() };
}

function reason(folder: string, { errcode = 0, message }: { errcode?: number; message: string }): string {
  switch (errcode & 0xff) {
    case BUSY:
      return `Another gateway runs on the folder ${folder}. Stop it, or give this one a folder of its own.`;
    case NOT_A_DATABASE:
      return `The file ${join(folder, 'lock.db')} is damaged. It holds nothing: stop all gateways and delete it.`;
    default:
      return `The folder ${folder} cannot be used: ${message}.`;
  }
}
