-- Jobs that only poll have a lane of their own, whose rate is limited.
UPDATE job SET lane = 'poll:' || lane
WHERE kind = 'video' AND lane NOT LIKE 'poll:%' AND EXISTS (
  SELECT 1 FROM video_task WHERE video_task.id = job.ref AND video_task.phase = 'polling' AND video_task.cancel_requested = 0
);
