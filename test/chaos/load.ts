/** Clients of all kinds until they are stopped: whole answers and streams over three protocols, and videos with webhooks. */

import { randomUUID } from 'node:crypto';
import { ask } from './gateway.ts';
import { pause, type Stage } from './stage.ts';

export interface LoadOptions {
  /** Of the gateway; it may be away for a while. */
  url: string;
  /** Clients that ask for answers of `chat/chat`, and that create videos of `film/film`. */
  askers: number;
  creators?: number;
  /** Where the webhooks of the videos go. */
  hooks?: readonly string[];
  /** Milliseconds between two questions of a client, and between two videos. */
  rest?: number;
  videoRest?: number;
  /** What its prompts begin with, where there are several loads. */
  name?: string;
  /** Milliseconds that a client waits for an answer. */
  patience?: number;
}

export interface Load {
  /** Ids of the upstream of the answers that were read to their end. */
  whole: Set<string>;
  /** Answers by status; 0 where there was none. */
  statuses: Map<number, number>;
  /** Prompts by the ids of their tasks. */
  created: Map<string, string>;
  stop(): Promise<void>;
}

const PATIENCE_MS = 8_000;
/** One of the protocols requires it; the others ignore it. */
const VERSION = { 'anthropic-version': '2023-06-01' };

export function startLoad(stage: Stage, options: LoadOptions): Load {
  const {
    url,
    askers,
    creators = 0,
    hooks = [],
    rest = 0,
    videoRest = 300,
    name = 'A paper boat',
    patience = PATIENCE_MS,
  } = options;
  const whole = new Set<string>();
  const statuses = new Map<number, number>();
  const created = new Map<string, string>();
  let over = false;
  stage.atEnd(() => {
    over = true;
  });

  async function question(number: number): Promise<void> {
    const { path, body, isWhole } = shapeOf(number);
    const response = await ask(url + path, body, { headers: VERSION, patience }).catch(() => undefined);
    const status = response?.status ?? 0;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const id = /made-\d+/.exec(response?.text ?? '')?.[0];
    if (status === 200 && id !== undefined && isWhole(response?.text ?? '')) whole.add(id);
    else await pause(50);
    if (rest > 0) await pause(rest);
  }

  async function video(prompt: string, receiver: string | undefined): Promise<void> {
    const headers = { 'idempotency-key': randomUUID() };
    const body = { model: 'film/film', prompt, duration: 4, callback_url: receiver };
    for (;;) {
      const response = await ask(`${url}/v1/videos`, body, { headers, patience }).catch(() => undefined);
      if (response?.status === 202) return void created.set(JSON.parse(response.text).id, prompt);
      if (over) return;
      await pause(100);
    }
  }

  const clients = [
    ...Array.from({ length: askers }, async (_, index) => {
      for (let number = index; !over; number++) await question(number);
    }),
    ...Array.from({ length: creators }, async (_, index) => {
      for (let number = 0; !over; number++) {
        await video(`${name}, ${index}.${number}`, hooks[index % hooks.length]);
        await pause(videoRest);
      }
    }),
  ];
  return {
    ...{ whole, statuses, created },
    async stop() {
      over = true;
      await Promise.all(clients);
    },
  };
}

interface Shape {
  path: string;
  body: object;
  /** Whether the text is a complete answer. */
  isWhole(text: string): boolean;
}

/** Protocols and streams in turns. */
function shapeOf(number: number): Shape {
  const stream = number % 2 === 0;
  const messages = [{ role: 'user', content: `Question ${number}` }];
  switch (Math.floor(number / 2) % 3) {
    case 0:
      return {
        path: '/v1/chat/completions',
        body: { model: 'chat/chat', stream, messages },
        isWhole: (text) => !stream || text.includes('[DONE]'),
      };
    case 1:
      return {
        path: '/anthropic/v1/messages',
        body: { model: 'chat/chat', stream, max_tokens: 100, messages },
        isWhole: (text) => !stream || text.includes('message_stop'),
      };
    default:
      return {
        path: `/gemini/v1beta/models/chat/chat:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
        body: { contents: [{ role: 'user', parts: [{ text: `Question ${number}` }] }] },
        isWhole: (text) => text.includes('finishReason'),
      };
  }
}
