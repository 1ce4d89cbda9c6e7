/** nginx, Debian's package: the reference relay, and the upstream of small answers. Absent where it is not installed. */

import { existsSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Child, delay, freePort, startChild, temporaryFolder } from '../host/children.ts';
import { requestBytes } from '../load/connection.ts';
import { CHAT_ANSWER, MESSAGES_ANSWER } from '../programs/answers.ts';
import type { Subject, Upstreams } from './subject.ts';

const PROGRAM = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/local/bin/nginx', '/opt/homebrew/bin/nginx'].find(
  existsSync,
);
const START_ATTEMPTS = 100;

export const hasNginx = PROGRAM !== undefined;

export async function startNginxUpstream(): Promise<{ port: number; stop(): Promise<void> }> {
  const { port, child } = await start(
    () => `
      default_type application/json;
      location / { return 200 '${CHAT_ANSWER}'; }
      location ~ /messages$ { return 200 '${MESSAGES_ANSWER}'; }`,
  );
  return { port, stop: () => child.stop() };
}

export async function startNginx(upstreams: Upstreams): Promise<Subject> {
  const began = performance.now();
  const { port, child } = await start(
    () => `
      location /instant/ { proxy_pass ${upstreams.usesNginx ? 'http://instant' : 'http://other'}; }
      location / { proxy_pass http://other; }`,
    `upstream instant { server ${hostOf(upstreams.instant)}; keepalive 1024; keepalive_requests 100000000; }
     upstream other { server ${hostOf(upstreams.other)}; keepalive 1024; keepalive_requests 100000000; }`,
  );
  return {
    name: 'nginx',
    pid: child.pid,
    readyAfter: performance.now() - began,
    answered: 0,
    target: ({ upstreamPath, body }) => ({ port, bytes: requestBytes(upstreamPath, { headers: {}, body: body('m') }) }),
    stop: () => child.stop(),
  };
}

async function start(locations: () => string, upstreams = ''): Promise<{ port: number; child: Child }> {
  if (PROGRAM === undefined) throw new Error('nginx is not installed.');
  const folder = temporaryFolder();
  const port = await freePort();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log; worker_rlimit_nofile 20000;
    events { worker_connections 15000; }
    http {
      access_log off; keepalive_requests 100000000; keepalive_timeout 1h; client_max_body_size 100m;
      client_body_buffer_size 8m; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
      proxy_read_timeout 1h;
      ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
      ${upstreams}
      server { listen 127.0.0.1:${port} backlog=10000; ${locations()} }
    }`,
  );
  const child = startChild(PROGRAM, ['-p', folder, '-c', join(folder, 'nginx.conf')], { folder });
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt++) {
    if (await listens(port)) return { port, child };
    await delay(20);
  }
  throw new Error('nginx did not start.');
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

function hostOf(origin: string): string {
  return new URL(origin).host;
}
