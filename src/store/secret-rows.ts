/** Webhook secret rows, inserted in the transactions of operations. */

import type { Transaction } from './operation.ts';

export interface StoredSecret {
  id: string;
  owner: string;
  ciphertext: string;
  createdAt: number;
  /** Unix milliseconds from which this secret signs, replacing the previous one. */
  activeAt: number;
}

export async function addSecret(transaction: Transaction, secret: StoredSecret): Promise<void> {
  const { id, owner, ciphertext, createdAt, activeAt } = secret;
  const row = { id, owner, ciphertext, created_at: createdAt, active_at: activeAt };
  await transaction.insert('webhook_secret', [row], { ignoreDuplicates: true });
}
