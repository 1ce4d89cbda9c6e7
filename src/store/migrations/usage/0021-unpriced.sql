-- @compatible_from 0.1.0
-- Whether the price of the tokens of a request was unknown when it ended, and the tokens of a period whose price was. Not of what
-- earlier versions recorded.
ALTER TABLE usage_request ADD COLUMN unpriced {int} NOT NULL DEFAULT 0;
ALTER TABLE budget ADD COLUMN unpriced {int} NOT NULL DEFAULT 0;
