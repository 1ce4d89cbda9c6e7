/** All store operations by name. */

import * as audit from './audit.ts';
import * as deliveries from './deliveries.ts';
import * as engine from './engine.ts';
import * as instances from './instances.ts';
import * as jobs from './jobs.ts';
import * as keys from './keys.ts';
import * as storedEncryption from './stored-encryption.ts';
import * as storedResponses from './stored-responses.ts';
import * as storedRetention from './stored-retention.ts';
import * as usage from './usage.ts';
import * as usageJournal from './usage-journal.ts';
import * as usageRetention from './usage-retention.ts';
import * as videoRetention from './video-retention.ts';
import * as videoUse from './video-usage.ts';
import * as videos from './videos.ts';
import * as webhookSecrets from './webhook-secrets.ts';

export const operations = {
  ...engine,
  ...keys,
  ...audit,
  ...jobs,
  ...videos,
  ...videoRetention,
  ...videoUse,
  ...deliveries,
  ...instances,
  ...storedEncryption,
  ...storedResponses,
  ...storedRetention,
  ...usage,
  ...usageJournal,
  ...usageRetention,
  ...webhookSecrets,
};
