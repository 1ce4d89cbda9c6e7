/** What the address of the list of webhooks may say. */

export const DELIVERY_STATES = ['pending', 'delivered', 'exhausted'] as const;

export const OUTCOMES = ['ack', 'http_status', 'timeout', 'dns', 'connect', 'tls', 'protocol', 'blocked'] as const;
