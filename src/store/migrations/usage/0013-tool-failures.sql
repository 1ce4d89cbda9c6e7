-- @compatible_from 0.1.0
-- Results of tools in the request that say that the tool failed; null where the protocol does not say it, and in records of
-- earlier versions.
ALTER TABLE usage_request ADD COLUMN tool_failures {int};
