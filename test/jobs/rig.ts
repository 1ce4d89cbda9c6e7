/** A store with the operations of these tests. */

import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { NewJob } from '../../src/store/job-rows.ts';
import type { StoreOperation } from '../../src/store/operation.ts';
import type { Store } from '../../src/store/store.ts';
import type { OpenTestStore, TestStore } from '../store/stores.ts';
import { type Activity, createActivity } from './activity.ts';
import type { operations } from './operations.ts';

type Operations = typeof operations;

export interface JobStore extends TestStore {
  /** Calls under way, and what else a test tracks. */
  activity: Activity;
  /** Calls any operation, those of the tests included. */
  do<Name extends keyof Operations>(
    name: Name,
    parameters: Operations[Name] extends StoreOperation<infer Parameters, infer _Result> ? Parameters : never,
  ): Promise<Operations[Name] extends StoreOperation<infer _Parameters, infer Result> ? Awaited<Result> : never>;
}

export const OPERATIONS = new URL('./operations.ts', import.meta.url);

export async function openJobStore(context: TestContext, open: OpenTestStore): Promise<JobStore> {
  const store = await open(context, { operations: OPERATIONS });
  const activity = createActivity();
  const call = activity.track(store.call as (...parameters: unknown[]) => Promise<unknown>);
  return { ...store, call: call as TestStore['call'], do: call as unknown as JobStore['do'], activity };
}

export function jobs(count: number, job: Partial<NewJob> & { dueAt: number }): NewJob[] {
  return Array.from({ length: count }, (_, index) => ({
    kind: 'test',
    ref: `${job.lane ?? ''}/${job.owner ?? ''}/${index}`,
    lane: '',
    owner: '',
    ...job,
  }));
}

export const silent = { warn() {}, error() {} } as never;

/** Resolves when the condition holds; the time limit of the test ends it otherwise. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(2);
}

export type { Store };
