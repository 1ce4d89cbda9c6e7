/** A gateway that delivers, and kills itself at a named point: before or after it calls an operation of the store. */

import { createStoreClock } from '../../src/core/clock.ts';
import { createScheduler } from '../../src/jobs/scheduler.ts';
import { createCipher } from '../../src/security/cipher.ts';
import { Secret } from '../../src/security/secret.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { openSqlite } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import { createDeliveryHandler } from '../../src/webhooks/delivery.ts';
import { createWebhookSecrets } from '../../src/webhooks/secrets.ts';
import { OPERATIONS, silent } from '../jobs/rig.ts';
import { encryptionKey, loopbackClient, SECRET } from './rig.ts';

const [folder = '', point = '', operation = ''] = process.argv.slice(2);
const opened = await openSqlite({ folder, role: 'owner', operations: OPERATIONS, migrations: MIGRATIONS_FOLDER });
const store: Store = {
  ...opened,
  async call(name, parameters) {
    if (point === 'before' && name === operation) process.kill(process.pid, 'SIGKILL');
    const result = await opened.call(name, parameters);
    const isIdle = name === 'claimJobs' && (result as { jobs: unknown[] }).jobs.length === 0;
    if (point === 'after' && name === operation && !isIdle) process.kill(process.pid, 'SIGKILL');
    return result;
  },
};
const clock = createStoreClock(store);
const secrets = createWebhookSecrets({ store, cipher: createCipher([encryptionKey]), fallback: new Secret(SECRET) });
const log = { ...(silent as object), info() {}, warn() {} };
const handler = createDeliveryHandler({ store, client: loopbackClient(), secrets, log, clock, userAgent: 'test' });
createScheduler({ store, handlers: [handler], log: silent, clock });
process.send?.('ready');
