-- @compatible_from 0.1.0
-- Of the requests in a sum: how many are assessed for the columns beside, which earlier versions do not add to; responses that
-- broke off; tokens and cost that are estimates.
ALTER TABLE usage_hour ADD COLUMN assessed {int} NOT NULL DEFAULT 0;
ALTER TABLE usage_hour ADD COLUMN partial {int} NOT NULL DEFAULT 0;
ALTER TABLE usage_hour ADD COLUMN estimated_tokens {int} NOT NULL DEFAULT 0;
ALTER TABLE usage_hour ADD COLUMN estimated_cost {int} NOT NULL DEFAULT 0;
ALTER TABLE usage_part ADD COLUMN assessed {int} NOT NULL DEFAULT 0;
ALTER TABLE usage_part ADD COLUMN partial {int} NOT NULL DEFAULT 0;
ALTER TABLE usage_part ADD COLUMN estimated_tokens {int} NOT NULL DEFAULT 0;
ALTER TABLE usage_part ADD COLUMN estimated_cost {int} NOT NULL DEFAULT 0;
ALTER TABLE usage_day ADD COLUMN assessed {int} NOT NULL DEFAULT 0;
ALTER TABLE usage_day ADD COLUMN partial {int} NOT NULL DEFAULT 0;
ALTER TABLE usage_day ADD COLUMN estimated_tokens {int} NOT NULL DEFAULT 0;
ALTER TABLE usage_day ADD COLUMN estimated_cost {int} NOT NULL DEFAULT 0;
ALTER TABLE usage_part_day ADD COLUMN assessed {int} NOT NULL DEFAULT 0;
ALTER TABLE usage_part_day ADD COLUMN partial {int} NOT NULL DEFAULT 0;
ALTER TABLE usage_part_day ADD COLUMN estimated_tokens {int} NOT NULL DEFAULT 0;
ALTER TABLE usage_part_day ADD COLUMN estimated_cost {int} NOT NULL DEFAULT 0;
