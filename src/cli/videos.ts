/** `polygate videos`: lists, shows and cancels video tasks of all keys, whether or not a gateway runs. */

import { pino } from 'pino';
import { localUrl } from '../config/host.ts';
import { loadConfig } from '../config/load.ts';
import { sleep, systemClock } from '../core/clock.ts';
import type { Json } from '../core/json/json.ts';
import { decimalOf } from '../core/money.ts';
import { version } from '../core/version.ts';
import { openSecrets } from '../gateway/encryption.ts';
import { createVideoTasks } from '../gateway/video-tasks.ts';
import type { VideoOptions } from '../http/videos/options.ts';
import { isTerminal, type VideoStatus, type VideoTask } from '../records/video-task.ts';
import { openStore } from '../store/open.ts';
import { openProviders } from './discovery.ts';
import { type ConfigOptions, configSource } from './source.ts';
import { printJson, printTable } from './table.ts';

const HEADINGS = ['ID', 'STATUS', 'MODEL', 'CREATED', 'SECONDS', 'USD', 'PROMPT'];
const PROMPT_WIDTH = 40;
const POLL_INTERVAL_MS = 500;
const BAR_WIDTH = 30;

export interface ListOptions extends ConfigOptions {
  limit: number;
  status?: VideoStatus;
  model?: string;
  json?: boolean;
}

export async function listVideos({ limit, status, model, ...options }: ListOptions): Promise<void> {
  await withVideos(options, async ({ videos, encode }) => {
    const query = { limit, order: 'desc' as const, ...(status && { status }), ...(model && { model }) };
    const { tasks } = await videos.list(undefined, query);
    if (options.json) printJson(tasks.map(encode));
    else printTable(HEADINGS, tasks.map(row));
  });
}

/** With `wait`, the exit code is 1 if the task ends without a video. */
export async function showVideo(
  id: string,
  { wait, json, ...options }: ConfigOptions & { wait?: boolean; json?: boolean },
): Promise<void> {
  await withVideos(options, async ({ videos, encode }) => {
    const task = wait ? await waitForEnd(() => videos.find(id)) : await videos.find(id);
    if (wait && task.status !== 'completed') process.exitCode = 1;
    if (json) printJson(encode(task));
    else printTable(['FIELD', 'VALUE'], fields(encode(task)));
  });
}

export async function cancelVideo(
  id: string,
  { abandon = false, ...options }: ConfigOptions & { abandon?: boolean },
): Promise<void> {
  await withVideos(options, async ({ videos }) => {
    const { owner } = await videos.find(id);
    const task = await videos.cancel(owner, id, { abandon });
    process.stdout.write(`${cancelMessage(task)}\n`);
  });
}

function cancelMessage({ id, status }: VideoTask): string {
  if (isTerminal(status)) return `The task ${id} is ${status}.`;
  return `The task ${id} is ${status}; its provider is asked to cancel it.`;
}

/** Works on the store only and sends no request to a provider. */
async function withVideos(options: ConfigOptions, work: (video: VideoOptions) => Promise<void>): Promise<void> {
  const config = loadConfig(configSource(options));
  const store = await openStore({ ...config, role: 'guest' });
  const { server } = config;
  const { models, upstream, close } = openProviders(config);
  const baseUrl = server.publicUrl ?? localUrl(server);
  const tasks = createVideoTasks({
    config,
    store,
    expiry: systemClock,
    secrets: await openSecrets({ config, store }),
    log: pino({ level: 'silent' }),
    userAgent: `polygate/${version}`,
    models: () => models,
    upstream: () => upstream,
    baseUrl: () => baseUrl,
  });
  try {
    await work(tasks.video);
  } finally {
    await Promise.all([tasks.stop(0), close()]);
    await store.close();
  }
}

/** Polls until the task ends; shows progress in a terminal. */
async function waitForEnd(read: () => Promise<VideoTask>): Promise<VideoTask> {
  const { stderr } = process;
  for (;;) {
    const task = await read();
    const isOver = isTerminal(task.status);
    if (stderr.isTTY) stderr.write(isOver ? '\r\x1b[K' : `\r\x1b[K${progressLine(task)}`);
    if (isOver) return task;
    await sleep(systemClock, POLL_INTERVAL_MS);
  }
}

export function progressLine({ status, progress }: Pick<VideoTask, 'status' | 'progress'>): string {
  if (progress === undefined) return status;
  const filled = Math.round((BAR_WIDTH * progress) / 100);
  return `${status} [${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${progress}%`;
}

function row(task: VideoTask): string[] {
  const prompt = task.prompt?.replaceAll(/\s+/g, ' ') ?? '';
  return [
    task.id,
    task.status,
    task.model,
    new Date(task.createdAt).toISOString().slice(0, 19).replace('T', ' '),
    task.seconds === undefined ? '' : String(task.seconds),
    task.cost === undefined ? '' : decimalOf(task.cost),
    prompt.length > PROMPT_WIDTH ? `${prompt.slice(0, PROMPT_WIDTH - 1)}…` : prompt,
  ];
}

function fields(object: Json): string[][] {
  return Object.entries(object).flatMap(([name, value]) => {
    if (Array.isArray(value)) return value.map((item) => [name, String(item)]);
    return [[name, typeof value === 'object' ? JSON.stringify(value) : String(value)]];
  });
}
