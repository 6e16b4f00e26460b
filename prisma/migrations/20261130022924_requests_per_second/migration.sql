-- Requests may be limited by the second beside the minute.
-- AlterTable
ALTER TABLE "rate_limits" ADD COLUMN     "requests_per_second" INTEGER;
