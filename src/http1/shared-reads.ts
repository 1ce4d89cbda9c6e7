/** Reads of sockets into one buffer. By default Node allocates 64 kB for each read, and frees most of it again. */

import { Socket } from 'node:net';
import { ownCopy } from '../core/own-bytes.ts';

/** Size of a read: Node's default. */
const READ_BYTES = 64 * 1024;

/** Gets the bytes of a read, which are lent to it until it returns. */
export type OnRead = (bytes: Buffer) => void;

const buffer = Buffer.allocUnsafeSlow(READ_BYTES);

/** The option of Node for sockets that connect. */
export function sharedReads(onRead: OnRead): { buffer: Buffer; callback(length: number): boolean } {
  return {
    buffer,
    callback(length) {
      onRead(buffer.subarray(0, length));
      return true;
    },
  };
}

/** Members of a socket in which Node keeps that option, and the handle below it, none of which the types have. */
interface SocketInternals {
  [member: symbol]: unknown;
  _handle?: { useUserBuffer?(buffer: Buffer): void };
}

/** Node has no such option for sockets that a server accepted. The members are found by the values that the option gives them. */
const { bufferMember, callbackMember } = membersOfOption();

function membersOfOption(): { bufferMember: symbol | undefined; callbackMember: symbol | undefined } {
  const onread = sharedReads(() => undefined);
  const socket = new Socket({ onread } as object);
  const internals = socket as unknown as SocketInternals;
  const memberWith = (value: unknown) =>
    Object.getOwnPropertySymbols(socket).find((member) => internals[member] === value);
  const found = { bufferMember: memberWith(onread.buffer), callbackMember: memberWith(onread.callback) };
  socket.destroy();
  return found;
}

/** Reads an accepted socket into the shared buffer, or by `data` events if the members were not found. */
export function readShared(socket: Socket, onRead: OnRead): void {
  const internals = socket as unknown as SocketInternals;
  if (bufferMember === undefined || callbackMember === undefined || !internals._handle?.useUserBuffer) {
    socket.on('data', onRead);
    return;
  }
  const { callback } = sharedReads(onRead);
  internals[bufferMember] = buffer;
  internals[callbackMember] = callback;
  internals._handle.useUserBuffer(buffer);
}

/** Makes `data` events of the reads from now on, for another reader of the socket. */
export function readAsEvents(socket: Socket, onRead: OnRead): void {
  socket.off('data', onRead);
  const internals = socket as unknown as SocketInternals;
  if (callbackMember === undefined || bufferMember === undefined || internals[bufferMember] !== buffer) return;
  internals[callbackMember] = (length: number) => socket.push(ownCopy(buffer, 0, length));
}
