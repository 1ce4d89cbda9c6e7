/** PostgreSQL server of a benchmark. */

import { Client } from 'pg';
import { parentOf } from './proc.ts';

/** A server of the package for tests, or of the system; absent where there is none. */
export async function provideDatabase(say: (text: string) => void) {
  process.env.POSTGRES_FSYNC = 'on';
  try {
    const { providePostgres } = await import('../../test/store/postgres-server.ts');
    return await providePostgres();
  } catch (error) {
    say(`not measured: ${(error as Error).message}`);
    return undefined;
  }
}

/** Process id of the server, the parent of a connection's process. */
export async function serverOf(url: string): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
  const server = parentOf(Number(rows[0]?.pid));
  await client.end();
  return server;
}
