/** Process that writes rows and reports each durable one until it is killed: `<folder> <first number>`. */

import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { openSqlite } from '../../src/store/sqlite/store.ts';
import { ENGINE_OPERATIONS, engineStore } from './engine-store.ts';

const [folder = '', first = '0'] = process.argv.slice(2);
const store = engineStore(
  await openSqlite({ folder, role: 'owner', operations: ENGINE_OPERATIONS, migrations: MIGRATIONS_FOLDER }),
);
let next = Number(first);

async function writeOn(): Promise<never> {
  for (;;) {
    const value = next++;
    await store.call('put', { subject: `row ${value}`, value });
    process.stdout.write(`row ${value}\n`);
  }
}

process.stdout.write('open\n');
await Promise.all(Array.from({ length: 8 }, writeOn));
