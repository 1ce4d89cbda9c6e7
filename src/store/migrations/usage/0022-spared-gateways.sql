-- @compatible_from 0.1.0
-- The end of the lifetime that others gave the instance after an outage of the store; its next heartbeat has another one.
ALTER TABLE instance ADD COLUMN spared_until {int} NOT NULL DEFAULT 0;
