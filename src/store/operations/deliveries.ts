/** Webhooks owed and sent. */

export {};
