/** Stage of a scenario: its folders, processes and servers, which are all removed at its end. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Figure } from './figures.ts';

export interface Stage {
  /** Tells how far it is. */
  say(text: string): void;
  /** An empty folder. */
  folder(): string;
  /** Undoes something at the end, the last first. */
  atEnd(undo: () => unknown): void;
  /** How long a scenario without an end of its own is to last. */
  minutes?: number | undefined;
}

export interface Scenario {
  /** What it is called on the command line. */
  id: string;
  title: string;
  /** How it is measured, in a sentence or two for the document. */
  how: string;
  /** It waits more than it works, so that others of its kind may run beside it. */
  patient?: true;
  run(stage: Stage): Promise<Figure[]>;
}

export async function play(scenario: Scenario, say: (text: string) => void, minutes?: number): Promise<Figure[]> {
  const { stage, close } = openStage(say);
  stage.minutes = minutes;
  try {
    return await scenario.run(stage);
  } finally {
    await close();
  }
}

/** `close` undoes everything, the last first. */
export function openStage(say: (text: string) => void = () => {}): { stage: Stage; close(): Promise<void> } {
  const undos: (() => unknown)[] = [];
  const stage: Stage = {
    say,
    folder() {
      const folder = mkdtempSync(join(tmpdir(), 'polygate-chaos-'));
      undos.push(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
      return folder;
    },
    atEnd: (undo) => void undos.push(undo),
  };
  async function close(): Promise<void> {
    for (const undo of undos.splice(0).reverse()) {
      await Promise.resolve()
        .then(undo)
        .catch((error) => say(`not tidied up: ${error.message}`));
    }
  }
  return { stage, close };
}

/** False when the condition did not come true in time. `tell` is called while it has not. */
export async function within(
  milliseconds: number,
  condition: () => boolean | Promise<boolean>,
  tell = () => {},
): Promise<boolean> {
  const end = performance.now() + milliseconds;
  while (performance.now() < end) {
    if (await condition()) return true;
    tell();
    await pause(50);
  }
  return condition();
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

export function between(least: number, most: number): number {
  return least + Math.random() * (most - least);
}

/** Does the work for every item, a few at a time. */
export async function inTurns<Item>(
  items: Iterable<Item>,
  width: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const queue = items[Symbol.iterator]();
  const worker = async () => {
    for (let next = queue.next(); !next.done; next = queue.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: width }, worker));
}
