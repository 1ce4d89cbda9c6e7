/** The operations of the gateway, and one that makes stored records those of a version without tags. */

import { writing } from '../../src/store/operation.ts';
import { operations as own } from '../../src/store/operations/index.ts';

const forgetParts = writing<object, void>('usage', async (transaction) => {
  await transaction.run('DELETE FROM usage_part');
  await transaction.run('UPDATE usage_request SET tags = NULL');
  await transaction.run('UPDATE usage_record SET tags = NULL');
});

export const operations = { ...own, forgetParts };
