/** Benchmark upstream: responds at once, whole or with a stream of `CHUNKS` words. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const CHUNKS = 100;

const chunk = (delta: object, finish: string | null) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

const STREAM = [
  chunk({ role: 'assistant', content: '' }, null),
  ...Array.from({ length: CHUNKS }, (_, index) => chunk({ content: ` word${index}` }, null)),
  chunk({}, 'stop'),
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: { prompt_tokens: 10, completion_tokens: CHUNKS, total_tokens: 10 + CHUNKS } })}\n\n`,
  'data: [DONE]\n\n',
];

const WHOLE = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'word '.repeat(CHUNKS) }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: CHUNKS, total_tokens: 10 + CHUNKS },
});

const server = createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  if (!body.includes('"stream":true')) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(WHOLE);
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const frame of STREAM) response.write(frame);
  response.end();
});

server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
