/** An upstream for chat completions that charges fixed counts of tokens and remembers each answer by its id. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { textOf } from './film-upstream.ts';
import { between, pause, type Stage } from './stage.ts';

export interface ChatUpstream {
  /** What the configuration needs to know it as the provider `up` with the model `up/chat`. */
  yaml: string;
  /** Its entry alone, for a configuration with several providers. */
  entry: string;
  /** Ids of the answers that it began to send. */
  served: Set<string>;
}

export interface ChatOptions {
  /** Tokens of each answer. */
  input: number;
  output: number;
  /** Milliseconds until it begins to answer, at least and at most. */
  delay?: [number, number];
  /** Milliseconds between the chunks of a stream. */
  interval?: number;
  /** Members of the model's entry, in the spelling of the file. */
  model?: string;
}

export async function startChats(stage: Stage, options: ChatOptions): Promise<ChatUpstream> {
  const { input, output, delay = [5, 40], interval = 10, model = '' } = options;
  const served = new Set<string>();
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  const server = createServer(async (request, response) => {
    const { stream } = JSON.parse(await textOf(request));
    const id = `made-${served.size + 1}`;
    served.add(id);
    await pause(between(...delay));
    const common = { id, model: 'chat', created: 1_800_000_000 };
    if (!stream) {
      const choice = { index: 0, message: { role: 'assistant', content: `Answer ${id}` }, finish_reason: 'stop' };
      const body = { ...common, object: 'chat.completion', choices: [choice], usage };
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (more: object) =>
      response.write(`data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', ...more })}\n\n`);
    send({ choices: [{ index: 0, delta: { role: 'assistant', content: `Answer ${id}` }, finish_reason: null }] });
    await pause(interval);
    send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
    send({ choices: [], usage });
    response.end('data: [DONE]\n\n');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stage.atEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const models = `[{ id: chat${model === '' ? '' : `, ${model}`} }]`;
  const entry = `{ type: openai-compatible, base_url: "http://127.0.0.1:${port}/v1", api_key: one, models: ${models} }`;
  return { served, entry, yaml: `providers: { up: ${entry} }` };
}
