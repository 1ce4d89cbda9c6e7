/** All scenarios, in the order of the document. */

import type { Scenario } from '../stage.ts';
import { brokenStore } from './broken-store.ts';
import { clockJumps } from './clock-jumps.ts';
import { commitRate } from './commit-rate.ts';
import { damagedJournal } from './damaged-journal.ts';
import { deadHost, storm } from './dead-host.ts';
import { failingDisk } from './failing-disk.ts';
import { faultyReceivers } from './faulty-receivers.ts';
import { frozenGateway } from './frozen-gateway.ts';
import { frozenRequests } from './frozen-requests.ts';
import { killedAccounts } from './killed-accounts.ts';
import { killedDatabase } from './killed-database.ts';
import { killedDeliveries } from './killed-deliveries.ts';
import { killedResponses } from './killed-responses.ts';
import { killedTasks } from './killed-tasks.ts';
import { manyOpenTasks } from './many-open-tasks.ts';
import { powerLoss } from './power-loss.ts';
import { fewFiles, smallHeap } from './scarce-resources.ts';
import { soak } from './soak.ts';
import { stopUnderLoad } from './stop-under-load.ts';
import { killedSteps, settlementRaces } from './test-files.ts';
import { wrongClock } from './wrong-clock.ts';

export const scenarios: readonly Scenario[] = [
  killedDeliveries,
  killedSteps,
  settlementRaces,
  frozenGateway,
  powerLoss,
  stopUnderLoad,
  commitRate,
  killedTasks,
  killedAccounts,
  killedResponses,
  manyOpenTasks,
  deadHost,
  storm,
  faultyReceivers,
  brokenStore,
  killedDatabase,
  clockJumps,
  wrongClock,
  failingDisk,
  damagedJournal,
  frozenRequests,
  fewFiles,
  smallHeap,
  soak,
];
