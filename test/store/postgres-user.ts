/** Process that uses the PostgreSQL test server until it is killed. */

import { providePostgres } from './postgres-server.ts';

const { url } = await providePostgres();
process.stdout.write(`${url}\n`);
setInterval(() => undefined, 1000);
