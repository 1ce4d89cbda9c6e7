/** What the address of the list of webhooks may say. */

export const DELIVERY_STATES = ['pending', 'delivered', 'exhausted'] as const;
