/** An upstream for videos that speaks OpenAI's endpoints, counts what it is asked, and recognises nothing as a repetition. */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Stage } from './stage.ts';

export interface FilmUpstream {
  /** What the configuration needs to know it as the provider `up` with the model `up/film`. */
  yaml: string;
  /** Its entry alone, for a configuration with several providers. */
  entry: string;
  /** How often each prompt was submitted. */
  submissions: Map<string, number>;
  polls(): number;
}

interface Film {
  id: string;
  prompt: string;
  at: number;
}

/** Milliseconds until a film is done; never if absent. */
export async function startFilms(stage: Stage, { doneIn }: { doneIn?: number }): Promise<FilmUpstream> {
  const films = new Map<string, Film>();
  const submissions = new Map<string, number>();
  let polls = 0;

  const show = ({ id, prompt, at }: Film) => ({
    ...{ id, object: 'video', model: 'film', prompt, created_at: Math.floor(at / 1000) },
    status: doneIn !== undefined && Date.now() - at >= doneIn ? 'completed' : 'in_progress',
  });

  async function submit(request: IncomingMessage): Promise<unknown> {
    const { prompt } = JSON.parse(await textOf(request));
    submissions.set(prompt, (submissions.get(prompt) ?? 0) + 1);
    const film = { id: randomUUID(), prompt, at: Date.now() };
    films.set(film.id, film);
    await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 30));
    return show(film);
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, , , id, content] = (request.url ?? '').split(/[/?]/);
    if (request.method === 'POST') return send(response, await submit(request));
    if (!request.url?.startsWith('/v1/videos/')) {
      return send(response, { object: 'list', data: [...films.values()].reverse().map(show), has_more: false });
    }
    if (content === 'content') return void response.writeHead(200, { 'content-type': 'video/mp4' }).end(FILM);
    polls += 1;
    const film = films.get(id ?? '');
    // One that it was told about elsewhere is under way for ever.
    send(response, film ? show(film) : { id, object: 'video', status: 'in_progress' });
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stage.atEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const models = '[{ id: film, video: { durations: [4], prices: { per-video-second: "0.1" } } }]';
  const entry = `{ type: openai-compatible, base_url: "http://127.0.0.1:${port}/v1", api_key: one, models: ${models} }`;
  return { yaml: `providers: { up: ${entry} }`, entry, submissions, polls: () => polls };
}

const FILM = Buffer.concat([
  Buffer.from('000000186674797069736f6d0000020069736f6d6d703432', 'hex'),
  Buffer.alloc(20_000),
]);

function send(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
