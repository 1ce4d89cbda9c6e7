/** Mirrors one video in a process of its own, which can be killed; prints what it kept and the most memory it had. */

import { createGuardedClient } from '../../src/net/guarded-client.ts';
import { createTrustedClient } from '../../src/net/trusted-client.ts';
import { createMirror } from '../../src/videos/mirror/index.ts';

const [folder = '', url = '', id = ''] = process.argv.slice(2);
const trusted = createTrustedClient();
const clients = { trusted, guarded: createGuardedClient() };
const log = { warn: (details: object) => console.error(details) };
const mirror = createMirror({
  folder,
  store: { type: 'local' },
  clients,
  secrets: [Buffer.alloc(32)],
  reserveBytes: 0,
  log,
});
const signal = new AbortController().signal;
const kept = await mirror.save({ id, owner: 'o' }, 0, { type: 'path', url, headers: {} }, signal);
await trusted.close();
process.stdout.write(JSON.stringify({ kept, memory: process.resourceUsage().maxRSS * 1024 }));
