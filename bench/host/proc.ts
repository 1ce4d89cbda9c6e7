/** Figures of a process from /proc, Linux only: processor time of all its threads and children, memory, bytes written. */

import { readdirSync, readFileSync } from 'node:fs';

/** The process and all its descendants. */
export function treeOf(pid: number): number[] {
  const children = threadsOf(pid).flatMap((thread) => {
    const text = read(`/proc/${pid}/task/${thread}/children`);
    return text === undefined ? [] : text.trim().split(' ').filter(Boolean).map(Number);
  });
  return [pid, ...children.flatMap(treeOf)];
}

/** User and system time of a process tree, in microseconds. */
export function processorTime(pid: number): number {
  return treeOf(pid).reduce((sum, one) => sum + ownProcessorTime(one), 0);
}

/** Processor time of each thread by its name, in microseconds. */
export function processorTimeByThread(pid: number): Map<string, number> {
  const times = new Map<string, number>();
  for (const one of treeOf(pid)) {
    for (const thread of threadsOf(one)) {
      const name = thread === String(one) ? 'main' : (read(`/proc/${one}/task/${thread}/comm`)?.trim() ?? '');
      times.set(name, (times.get(name) ?? 0) + threadTime(one, thread));
    }
  }
  return times;
}

/** Of a clock tick in `stat`. */
const TICK_US = 10_000;

/** User and system time of children that have ended, in microseconds, in steps of a clock tick. */
export function endedChildrenTime(pid: number): number {
  const text = read(`/proc/${pid}/stat`) ?? '';
  // After the name: state, parent, ...
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13] ?? 0) + Number(fields[14] ?? 0)) * TICK_US;
}

/** Resident memory of a process tree, in bytes. */
export function residentMemory(pid: number): number {
  return treeOf(pid).reduce((sum, one) => sum + fieldOf(read(`/proc/${one}/status`), /VmRSS:\s+(\d+)/) * 1024, 0);
}

export function parentOf(pid: number): number {
  return fieldOf(read(`/proc/${pid}/status`), /^PPid:\s+(\d+)/m);
}

/** Bytes that a process tree has caused to be written to disk. */
export function bytesWritten(pid: number): number {
  return treeOf(pid).reduce((sum, one) => sum + fieldOf(read(`/proc/${one}/io`), /^write_bytes: (\d+)/m), 0);
}

function ownProcessorTime(pid: number): number {
  return threadsOf(pid).reduce((sum, thread) => sum + threadTime(pid, thread), 0);
}

/** The scheduler's own count, in nanoseconds; the ticks of `stat` are too coarse for a window of a second. */
function threadTime(pid: number, thread: string): number {
  return Number(read(`/proc/${pid}/task/${thread}/schedstat`)?.split(' ')[0] ?? 0) / 1000;
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function fieldOf(text: string | undefined, pattern: RegExp): number {
  return Number(pattern.exec(text ?? '')?.[1] ?? 0);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
