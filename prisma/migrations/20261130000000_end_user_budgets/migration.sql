-- A budget may be counted for each end user of an application by himself.
-- AlterTable
ALTER TABLE "budgets" ADD COLUMN     "per_end_user" BOOLEAN NOT NULL DEFAULT false;
