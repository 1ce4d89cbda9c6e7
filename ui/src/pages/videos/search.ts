/** What the address of the list of videos may say. */

export const VIDEO_STATUSES = ['queued', 'in_progress', 'completed', 'failed', 'cancelled', 'expired'] as const;
