/** All handlers of the admin API. */

import { createBulkHandlers } from './bulk.ts';
import { createKeyHandlers } from './keys.ts';
import { createModelHandlers } from './models.ts';
import { createOperationHandlers } from './operation.ts';
import { createRecordHandlers } from './records.ts';
import type { AdminOptions } from './request.ts';
import { createRequestHandlers } from './requests.ts';
import type { AdminHandlers } from './routes.ts';
import { createRoutingHandlers } from './routing.ts';
import { createSessionHandlers } from './sessions.ts';
import { createTagHandlers } from './tags.ts';
import { createTaskHandlers } from './tasks.ts';
import { createViewHandlers } from './views.ts';

export function createAdminHandlers(options: AdminOptions): AdminHandlers {
  return {
    ...createBulkHandlers(options),
    ...createKeyHandlers(options),
    ...createModelHandlers(options),
    ...createOperationHandlers(options),
    ...createRecordHandlers(options),
    ...createRequestHandlers(options),
    ...createRoutingHandlers(options),
    ...createSessionHandlers(options),
    ...createTagHandlers(options),
    ...createTaskHandlers(options),
    ...createViewHandlers(options),
  };
}
