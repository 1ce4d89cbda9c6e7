-- @compatible_from 0.1.0
-- Holds of instances that are gone are found without reading those of the others.
CREATE INDEX hold_instance ON hold (instance);
