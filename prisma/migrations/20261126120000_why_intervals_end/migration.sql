-- The timeline of an instance says of each stop why, not of the last one alone.
ALTER TABLE "usage_interval" ADD COLUMN "stop_reason" "stop_reason";
