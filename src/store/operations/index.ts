/** All store operations by name. */

import * as audit from './audit.ts';
import * as backgroundResponses from './background-responses.ts';
import * as conversationItems from './conversation-items.ts';
import * as conversationRetention from './conversation-retention.ts';
import * as conversations from './conversations.ts';
import * as dashboard from './dashboard.ts';
import * as deliveries from './deliveries.ts';
import * as deliveryLists from './delivery-lists.ts';
import * as endpointSnapshots from './endpoint-snapshots.ts';
import * as engine from './engine.ts';
import * as figures from './figures.ts';
import * as instances from './instances.ts';
import * as jobs from './jobs.ts';
import * as keys from './keys.ts';
import * as notices from './notices.ts';
import * as priceChanges from './price-changes.ts';
import * as requests from './requests.ts';
import * as storedEncryption from './stored-encryption.ts';
import * as storedResponses from './stored-responses.ts';
import * as storedRetention from './stored-retention.ts';
import * as storedStreams from './stored-streams.ts';
import * as tags from './tags.ts';
import * as usage from './usage.ts';
import * as usageDays from './usage-days.ts';
import * as usageExport from './usage-export.ts';
import * as usageJournal from './usage-journal.ts';
import * as usageMinutes from './usage-minutes.ts';
import * as usageRetention from './usage-retention.ts';
import * as usageSums from './usage-sums.ts';
import * as usageTimes from './usage-times.ts';
import * as videoLists from './video-lists.ts';
import * as videoRetention from './video-retention.ts';
import * as videoUse from './video-usage.ts';
import * as videos from './videos.ts';
import * as webhookSecrets from './webhook-secrets.ts';

export const operations = {
  ...endpointSnapshots,
  ...engine,
  ...keys,
  ...audit,
  ...backgroundResponses,
  ...conversationItems,
  ...conversationRetention,
  ...conversations,
  ...jobs,
  ...videos,
  ...videoLists,
  ...videoRetention,
  ...videoUse,
  ...dashboard,
  ...priceChanges,
  ...deliveries,
  ...deliveryLists,
  ...figures,
  ...instances,
  ...notices,
  ...requests,
  ...storedEncryption,
  ...storedResponses,
  ...storedRetention,
  ...storedStreams,
  ...tags,
  ...usage,
  ...usageDays,
  ...usageExport,
  ...usageJournal,
  ...usageMinutes,
  ...usageRetention,
  ...usageSums,
  ...usageTimes,
  ...webhookSecrets,
};
