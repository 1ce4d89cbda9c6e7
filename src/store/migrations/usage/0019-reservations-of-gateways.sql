-- @compatible_from 0.1.0
-- What running requests of the instance reserve of budgets, see src/records/reservations.ts; null of a version before it.
ALTER TABLE instance ADD COLUMN reservations text;
