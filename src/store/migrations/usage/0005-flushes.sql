-- Number of the last group of records that an instance wrote: a group whose answer was lost is not written twice.
ALTER TABLE instance ADD COLUMN flush {int} NOT NULL DEFAULT 0;
