/** What the address of the list of webhooks may say. */

export const DELIVERY_STATES = ['pending', 'delivered', 'exhausted'] as const;

export const OUTCOMES = ['ack', 'http_status', 'timeout', 'dns', 'connect', 'tls', 'protocol', 'blocked'] as const;

/** Parts of what was sent, of the webhook that is opened. */
export const SENT_TABS = ['body', 'headers', 'signature'] as const;
