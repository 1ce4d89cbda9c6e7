/** Process that holds a lock on a SQLite file until its input ends: `<file>`. */

import { DatabaseSync } from 'node:sqlite';

const database = new DatabaseSync(process.argv[2] ?? '', { timeout: 5000 });
database.exec('BEGIN EXCLUSIVE');
process.stdout.write('locked\n');
process.stdin.resume().on('end', () => {
  database.exec('COMMIT');
  database.close();
});
