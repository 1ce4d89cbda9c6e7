-- Records of requests by month: a month is a table of its own, which goes at once. What belongs to no month stays in the first table.
-- @postgres
ALTER TABLE usage_request RENAME TO usage_request_rest;
CREATE TABLE usage_request (LIKE usage_request_rest INCLUDING DEFAULTS, PRIMARY KEY (at, id)) PARTITION BY RANGE (at);
ALTER TABLE usage_request ATTACH PARTITION usage_request_rest DEFAULT;
-- @both
