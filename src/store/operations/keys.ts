/** API keys and the secrets that webhooks are signed with. */

export {};
