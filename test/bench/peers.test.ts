/** Other gateways: started with the upstream of a workload, and refused where they answer with something else. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { endEverything, temporaryFolder } from '../../bench/host/children.ts';
import { closedLoop } from '../../bench/load/closed-loop.ts';
import { CHAT_ANSWER, CHAT_FRAMES } from '../../bench/programs/answers.ts';
import { folderOf, isInstalled, PEER_KEY, type Peer, runInstaller, startPeer } from '../../bench/subjects/peer.ts';
import { peers } from '../../bench/subjects/peers.ts';
import type { Upstreams } from '../../bench/subjects/subject.ts';
import { frames, passthrough, patched } from '../../bench/workload.ts';

after(endEverything);

const RELAY = `
import { createServer } from 'node:http';
const [, , port, baseUrl] = process.argv;
createServer(async (request, response) => {
  const { authorization = '', 'x-route': route } = request.headers;
  const parts = await Array.fromAsync(request);
  const headers = { 'content-type': 'application/json', authorization, 'x-route': route };
  const answer = await fetch(baseUrl + '/chat/completions', { method: 'POST', headers, body: Buffer.concat(parts) });
  response.writeHead(answer.status).end(await answer.text());
}).listen(Number(port), '127.0.0.1');
`;

/** A gateway as a program of its own. */
function relay(): Peer {
  const program = join(temporaryFolder(), 'relay.mjs');
  writeFileSync(program, RELAY);
  return {
    ...{ name: 'relay', version: '1.0.0', program, install: async () => undefined },
    command: ({ port, baseUrl }) => ({
      ...{ program: process.execPath, args: [program, String(port), baseUrl], headers: { 'x-route': 'a' } },
    }),
  };
}

async function serveUpstream(t: TestContext, answers: Record<string, string>): Promise<Upstreams & { seen: string[] }> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.url} ${request.headers.authorization} ${request.headers['x-route']}`);
    request.resume().on('end', () => response.end(answers[request.url ?? '']));
  }).listen(0, '127.0.0.1');
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { instant: origin, other: origin, usesNginx: false, stop: async () => undefined, seen };
}

test('a peer serves the workload that it was started for, from the upstream of that workload', async (t) => {
  const upstreams = await serveUpstream(t, {
    [passthrough.upstreamPath]: CHAT_ANSWER,
    [frames.upstreamPath]: CHAT_FRAMES.join(''),
  });
  for (const workload of [passthrough, frames]) {
    const subject = await startPeer(relay(), upstreams, workload);
    t.after(() => subject.stop());
    assert.equal(subject.target(patched), undefined);
    const target = subject.target(workload);
    assert.ok(target);
    const answers = await closedLoop(target, { connections: 2, requests: 6 });
    assert.deepEqual([answers.ok, answers.failed], [6, 0]);
    assert.deepEqual(new Set(upstreams.seen.splice(0)), new Set([`${workload.upstreamPath} Bearer ${PEER_KEY} a`]));
  }
});

test('a peer that answers with another text, or with a stream that is cut, does not start', async (t) => {
  const upstreams = await serveUpstream(t, {
    [passthrough.upstreamPath]: JSON.stringify({ error: { message: 'no such model' } }),
    [frames.upstreamPath]: CHAT_FRAMES.slice(0, -1).join(''),
  });
  await assert.rejects(
    startPeer(relay(), upstreams, passthrough),
    /relay answers with something else: .*no such model/,
  );
  await assert.rejects(startPeer(relay(), upstreams, frames), /relay answers with something else: data: /);
});

test('a peer whose answers become too short has failed answers', async (t) => {
  const answers = { [passthrough.upstreamPath]: CHAT_ANSWER };
  const subject = await startPeer(relay(), await serveUpstream(t, answers), passthrough);
  t.after(() => subject.stop());
  answers[passthrough.upstreamPath] = '{"error":{"message":"too many requests"}}';
  const target = subject.target(passthrough);
  assert.ok(target);
  const { ok, failed } = await closedLoop(target, { connections: 1, requests: 5 });
  assert.deepEqual([ok, failed], [0, 5]);
});

test('each version of a peer has a folder of its own, in which its program is', () => {
  assert.equal(new Set(peers.map(({ name }) => name)).size, peers.length);
  for (const peer of peers) {
    assert.match(peer.version, /^\d+\.\d+\.\d+$/);
    assert.ok(peer.program.startsWith(join(folderOf(peer), '/')));
    assert.notEqual(folderOf({ ...peer, version: '0.0.1' }), folderOf(peer));
  }
  const own = relay();
  assert.equal(isInstalled(own), true);
  assert.equal(isInstalled({ ...own, program: `${own.program}.gone` }), false);
});

test('each peer is told its port and its upstream; Noveum adds the /v1 by itself', () => {
  for (const peer of peers) {
    const folder = temporaryFolder();
    const command = peer.command({ port: 4321, baseUrl: 'http://127.0.0.1:9/instant/v1', folder });
    const files = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
    const told = [JSON.stringify(command), ...files].join('\n');
    assert.match(told, /\b4321\b/, peer.name);
    assert.match(told, peer.name === 'noveum' ? /:9\/instant"/ : /:9\/instant\/v1"/, peer.name);
  }
  assert.deepEqual(peers.map(({ name }) => name).sort(), ['litellm', 'noveum', 'portkey']);
});

test('an installation that fails says why', async () => {
  await assert.rejects(runInstaller('no-such-installer', []), /^Error: no-such-installer is not installed$/);
  const script = "console.error('warning: old\\nerror: no network\\nnote: try again'); process.exit(1)";
  await assert.rejects(runInstaller(process.execPath, ['-e', script]), /^Error: error: no network$/);
  await assert.rejects(runInstaller(process.execPath, ['-e', 'process.exit(3)']), /^Error: Command failed: /);
});
