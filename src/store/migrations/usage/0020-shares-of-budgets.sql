-- @compatible_from 0.1.0
-- Of what is spent in a period, in 1e-12 USD: by requests whose token counts are estimates, and for videos. Not of what earlier
-- versions added.
ALTER TABLE budget ADD COLUMN estimated {int} NOT NULL DEFAULT 0;
ALTER TABLE budget ADD COLUMN videos {int} NOT NULL DEFAULT 0;
